// SPDX-License-Identifier: MIT
#include "trainer/agent/net/tls_session.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ipc/printable.h"

namespace lockstep::agent {

namespace {

constexpr std::size_t recordBytes = 16 * 1024;      ///< the most that TLS puts into one
constexpr std::size_t longestHandshake = 16 * 1024; ///< ours has a few hundred bytes
constexpr std::string_view keyLabel =
    "Lockstep, agents' link\n"; ///< a secret that serves elsewhere, too, is another key there

std::string reasonText(unsigned long code) {
    const char *reason = ERR_reason_error_string(code);
    return reason ? reason : "no reason given";
}

/// The alert with which the other side ended the handshake; 0: it did not.
int alertOf(unsigned long code) {
    return std::max(0, ERR_GET_REASON(code) - SSL_AD_REASON_OFFSET);
}

} // namespace

void TlsSession::Free::operator()(ssl_st *ssl) const {
    SSL_free(ssl);
}

ssl_ctx_st *TlsSession::context(Side side) {
    const auto make = [](Side one) {
        std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> made(SSL_CTX_new(TLS_method()), &SSL_CTX_free);
        // AES-128-GCM's hash is a pre-shared key's by default.
        if (!made || SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION) != 1 ||
            SSL_CTX_set_max_proto_version(made.get(), TLS1_3_VERSION) != 1 ||
            SSL_CTX_set_ciphersuites(made.get(), "TLS_AES_128_GCM_SHA256") != 1 ||
            SSL_CTX_set_num_tickets(made.get(), 0) != 1) {
            made.reset();
            return made;
        }
        SSL_CTX_set_options(made.get(), SSL_OP_NO_TICKET);
        SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
        if (one == Side::Client) {
            SSL_CTX_set_psk_client_callback(made.get(), &clientKey);
            SSL_CTX_set_verify(made.get(), SSL_VERIFY_PEER, nullptr); // a certificate, whosever, is no answer
        } else {
            SSL_CTX_set_psk_server_callback(made.get(), &serverKey);
        }
        return made;
    };
    static const auto client = make(Side::Client), server = make(Side::Server);
    return side == Side::Client ? client.get() : server.get();
}

TlsSession::TlsSession(Side side, std::string name, std::string_view secret, std::size_t mostRecords)
    : m_side(side), m_name(std::move(name)), m_mostRecords(mostRecords) {
    Sha256 hash;
    hash.add(keyLabel);
    hash.add(secret);
    m_key = hash.digest();
    if (ssl_ctx_st *shared = context(side))
        m_ssl.reset(SSL_new(shared));
    if (!m_ssl)
        return;
    SSL_set_app_data(m_ssl.get(), this);
    SSL_set_bio(m_ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    if (side == Side::Server) {
        SSL_set_accept_state(m_ssl.get());
    } else {
        SSL_set_connect_state(m_ssl.get());
        if (!shakeHands()) // the first message
            m_ssl.reset();
    }
}

Error TlsSession::whyUnusable() {
    return Error::failed("OpenSSL makes no TLS 1.3 connection here", "see what the system's openssl.cnf allows");
}

TlsSession::~TlsSession() {
    OPENSSL_cleanse(m_key.data(), m_key.size());
}

unsigned TlsSession::giveKey(unsigned char *key, unsigned room) const {
    if (room < m_key.size())
        return 0;
    std::ranges::copy(m_key, key);
    return static_cast<unsigned>(m_key.size());
}

unsigned TlsSession::clientKey(ssl_st *ssl, const char *, char *name, unsigned nameRoom, unsigned char *key,
                               unsigned keyRoom) {
    const auto &self = *static_cast<const TlsSession *>(SSL_get_app_data(ssl));
    if (self.m_name.size() >= nameRoom)
        return 0;
    std::memcpy(name, self.m_name.c_str(), self.m_name.size() + 1);
    return self.giveKey(key, keyRoom);
}

unsigned TlsSession::serverKey(ssl_st *ssl, const char *name, unsigned char *key, unsigned keyRoom) {
    auto &self = *static_cast<TlsSession *>(SSL_get_app_data(ssl));
    if (self.m_name != name) {
        self.m_named = name;
        return 0;
    }
    return self.giveKey(key, keyRoom);
}

Result<void> TlsSession::shakeHands() {
    ERR_clear_error();
    const int done = SSL_do_handshake(m_ssl.get());
    if (done != 1 && SSL_get_error(m_ssl.get(), done) == SSL_ERROR_WANT_READ)
        return {};
    if (done != 1)
        return fail(whyNoHandshake());
    if (SSL_session_reused(m_ssl.get()) != 1) // as OpenSSL calls a session by a pre-shared key
        return fail(Error::failed("the connection is encrypted by another key than the run's"));
    m_established = true;
    send(std::exchange(m_waiting, {}));
    return {};
}

Error TlsSession::whyNoHandshake() const {
    const unsigned long code = ERR_peek_error();
    const int alert = alertOf(code);
    if (ERR_GET_REASON(code) == SSL_R_BINDER_DOES_NOT_VERIFY || alert == SSL_AD_ILLEGAL_PARAMETER ||
        alert == SSL_AD_DECRYPT_ERROR) // the last from OpenSSL 3.4 on
        return Error::failed(m_side == Side::Server ? "its token is wrong" : "the token is wrong",
                             "take the one that agent 0 answered for this run");
    if (!m_named.empty())
        return Error::failed("it is of run " + printableName(m_named) + ", this is run " + m_name);
    return Error::failed(m_side == Side::Server ? "it is no agent of this version (TLS: " + reasonText(code) + ")"
                         : alert != 0 ? "agent 0 there is of another run than " + m_name + " or of another version"
                                      : "what answers is no agent 0 of this version (TLS: " + reasonText(code) + ")",
                         "start all nodes with the same version of Lockstep");
}

Result<void> TlsSession::receive(std::string_view bytes, std::string &plain) {
    if (!m_ssl)
        return fail(whyUnusable());
    if (!m_established && (m_heard += bytes.size()) > longestHandshake)
        return fail(Error::failed("it sends more than a handshake has"));
    BIO_write(SSL_get_rbio(m_ssl.get()), bytes.data(), static_cast<int>(bytes.size()));
    if (!m_established)
        if (const Result<void> shaken = shakeHands(); !shaken || !m_established)
            return shaken;
    std::array<char, recordBytes> block;
    for (;;) {
        ERR_clear_error();
        const int n = SSL_read(m_ssl.get(), block.data(), static_cast<int>(block.size()));
        if (n > 0) {
            plain.append(block.data(), static_cast<std::size_t>(n));
            continue;
        }
        const int why = SSL_get_error(m_ssl.get(), n);
        if (why == SSL_ERROR_WANT_READ)
            return {};
        return fail(Error::failed(why == SSL_ERROR_ZERO_RETURN ? "the other side closed it"
                                                               : "what came was changed on the way (TLS: " +
                                                                     reasonText(ERR_peek_error()) + ")"));
    }
}

void TlsSession::send(std::string_view plain) {
    if (!m_ssl || plain.empty())
        return;
    if (!m_established) {
        m_waiting += plain;
        return;
    }
    m_records += 1 + plain.size() / recordBytes;
    if (m_records > m_mostRecords) {
        SSL_key_update(m_ssl.get(), SSL_KEY_UPDATE_NOT_REQUESTED);
        m_records = 0;
    }
    SSL_write(m_ssl.get(), plain.data(), static_cast<int>(plain.size())); // into memory, so all of it
}

void TlsSession::takeOutgoing(std::string &bytes) {
    if (!m_ssl)
        return;
    std::array<char, recordBytes> block;
    for (int n = 0; (n = BIO_read(SSL_get_wbio(m_ssl.get()), block.data(), static_cast<int>(block.size()))) > 0;)
        bytes.append(block.data(), static_cast<std::size_t>(n));
}

} // namespace lockstep::agent
