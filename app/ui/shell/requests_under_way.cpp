// SPDX-License-Identifier: MIT
#include "app/ui/shell/requests_under_way.h"

#include <algorithm>

namespace lockstep::ui {

bool RequestsUnderWay::ask(Deed deed, const QString &subject, const QString &sentence,
                           const std::function<core::Asked()> &ask) {
    if (has(deed, subject))
        return false;
    core::Asked asked = ask();
    if (!asked) {
        Q_EMIT failed(QString::fromStdString(asked.error().message()));
        return false;
    }
    if (!*asked)
        return true;
    core::Request *request = asked->get();
    connect(request, &core::Request::finished, this, [this, request] { answered(request); });
    m_underWay.push_back({deed, subject, sentence, std::move(*asked)});
    Q_EMIT changed();
    return true;
}

bool RequestsUnderWay::has(Deed deed, const QString &subject) const {
    return std::ranges::any_of(m_underWay,
                               [&](const UnderWay &one) { return one.deed == deed && one.subject == subject; });
}

QString RequestsUnderWay::sentence() const {
    return m_underWay.empty() ? QString() : m_underWay.back().sentence;
}

void RequestsUnderWay::answered(const core::Request *request) {
    const Result<void> &result = request->result();
    const QString error = result ? QString() : QString::fromStdString(result.error().message());
    const auto found =
        std::ranges::find_if(m_underWay, [&](const UnderWay &one) { return one.request.get() == request; });
    found->request.release()->deleteLater(); // this is called from its signal
    m_underWay.erase(found);
    Q_EMIT changed();
    if (!error.isEmpty())
        Q_EMIT failed(error);
}

} // namespace lockstep::ui

#include "moc_requests_under_way.cpp"
