// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "ipc/error.h"
#include "ipc/sha256.h"

struct ssl_st;
struct ssl_ctx_st;

namespace lockstep::agent {

/// One side of an encrypted connection: TLS 1.3 with a pre-shared key (RFC 8446, section 2.2) by OpenSSL. There are no certificates. Who
/// completes the handshake knows the secret, which itself never travels; each connection has a Diffie-Hellman exchange of its own, so
/// that what was recorded stays closed to who learns the secret later. It has no socket: bytes go in and come out. Not thread safe.
class TlsSession {
public:
    enum class Side { Client, Server };
    /// After so many records a key is replaced: AES-GCM must not encrypt more than 2^24.5 with one (RFC 8446, section 5.5).
    static constexpr std::size_t recordsAKey = 1 << 22;

    /// `name` says which secret is meant, and travels as text: a run's id. Both sides need the same.
    TlsSession(Side side, std::string name, std::string_view secret, std::size_t mostRecords = recordsAKey);
    ~TlsSession();
    TlsSession(const TlsSession &) = delete;
    TlsSession &operator=(const TlsSession &) = delete;

    /// Whether OpenSSL can make such a connection here; a system's openssl.cnf may forbid it. If not, receive() fails and nothing is sent.
    [[nodiscard]] bool usable() const { return m_ssl != nullptr; }
    [[nodiscard]] static Error whyUnusable();

    /// Takes what came from the other side, and appends to `plain` what it says. After an error the connection is of no use: the other
    /// side has another secret or none, what it sent was changed on the way, or it has closed. takeOutgoing() still has the alert for the other side.
    [[nodiscard]] Result<void> receive(std::string_view bytes, std::string &plain);
    void send(std::string_view plain); ///< before the handshake is over, it waits
    /// Appends to `bytes` what is to go to the other side: after the constructor, and after each call of the two above.
    void takeOutgoing(std::string &bytes);
    [[nodiscard]] bool established() const { return m_established; } ///< the other side knows the secret

private:
    struct Free {
        void operator()(ssl_st *ssl) const;
    };
    static ssl_ctx_st *context(Side side);
    static unsigned clientKey(ssl_st *ssl, const char *hint, char *name, unsigned nameRoom, unsigned char *key,
                              unsigned keyRoom);
    static unsigned serverKey(ssl_st *ssl, const char *name, unsigned char *key, unsigned keyRoom);
    [[nodiscard]] Result<void> shakeHands();
    [[nodiscard]] Error whyNoHandshake() const;
    unsigned giveKey(unsigned char *key, unsigned room) const;

    Side m_side;
    std::string m_name, m_named; ///< m_named: by the client, where it isn't ours
    Sha256::Digest m_key{};
    std::size_t m_records = 0, m_mostRecords, m_heard = 0; ///< m_heard: bytes before the handshake was over
    std::string m_waiting;
    bool m_established = false;
    std::unique_ptr<ssl_st, Free> m_ssl;
};

} // namespace lockstep::agent
