// SPDX-License-Identifier: MIT
#pragma once
#include <QObject>
#include <QString>

#include <functional>
#include <memory>
#include <vector>

#include "base/request.h"

namespace lockstep::ui {

/// The kinds of requests for a run or a queue; one of each kind at a time for each of them.
enum class Deed { Stop, Trace, Stacks, TakeOver, ChangeQueue };

/// The window's unanswered requests, each with a sentence for the screen. GUI thread only; never blocks. Its destructor
/// cancels them.
class RequestsUnderWay : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    /// Asks, unless the same is under way for `subject` (an experiment's or run's id). `sentence`: "Stopping DDP on 2 devices on hostA…".
    /// Returns whether it was sent. A refusal emits failed().
    bool ask(Deed deed, const QString &subject, const QString &sentence, const std::function<core::Asked()> &ask);
    [[nodiscard]] bool has(Deed deed, const QString &subject) const;
    [[nodiscard]] QString sentence() const; ///< of the newest; empty: nothing is under way

Q_SIGNALS:
    void changed();
    void failed(const QString &sentence);

private:
    void answered(const core::Request *request);
    struct UnderWay {
        Deed deed;
        QString subject, sentence;
        std::unique_ptr<core::Request> request;
    };
    std::vector<UnderWay> m_underWay;
};

} // namespace lockstep::ui
