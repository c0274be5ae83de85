// SPDX-License-Identifier: MIT
// Both sides of an encrypted connection, without a network between them.
#include <doctest/doctest.h>

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "trainer/agent/net/tls_session.h"

using namespace lockstep;
using namespace lockstep::agent;
using Side = TlsSession::Side;

namespace {

const std::string secret = "0123456789abcdef0123456789abcdef", run = "20261127T120000Z-12345678";

struct End {
    End(Side side, const std::string &name, const std::string &secret, std::size_t records = TlsSession::recordsAKey)
        : tls(side, name, secret, records) {}
    TlsSession tls;
    std::string heard;
    Error error; ///< the last
    bool failed = false;

    void hear(std::string_view bytes) {
        if (const Result<void> done = tls.receive(bytes, heard); !done) {
            failed = true;
            error = done.error();
        }
    }
};

/// Carries what both sides have to say, in pieces of so many bytes, until neither has anything. Returns all of it.
std::string carry(End &a, End &b, std::size_t piece = 65536) {
    std::string all;
    for (bool more = true; more;) {
        more = false;
        for (auto [from, to] : {std::pair(&a, &b), std::pair(&b, &a)}) {
            std::string bytes;
            from->tls.takeOutgoing(bytes);
            more = more || !bytes.empty();
            all += bytes;
            for (std::size_t at = 0; at < bytes.size() && !to->failed; at += piece)
                to->hear(std::string_view(bytes).substr(at, piece));
        }
    }
    return all;
}

/// A server that has a certificate of its own making, and no secret: who stands between two nodes.
class Impostor {
public:
    Impostor() : m_context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free) {
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(makeKey(), &EVP_PKEY_free);
        const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), &X509_free);
        X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
        X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
        X509_set_pubkey(certificate.get(), key.get());
        REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
        REQUIRE(SSL_CTX_use_certificate(m_context.get(), certificate.get()) == 1);
        REQUIRE(SSL_CTX_use_PrivateKey(m_context.get(), key.get()) == 1);
        m_ssl.reset(SSL_new(m_context.get()));
        SSL_set_bio(m_ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        SSL_set_accept_state(m_ssl.get());
    }
    std::string answer(const std::string &bytes) {
        BIO_write(SSL_get_rbio(m_ssl.get()), bytes.data(), static_cast<int>(bytes.size()));
        SSL_do_handshake(m_ssl.get());
        std::string out(65536, '\0');
        const int n = BIO_read(SSL_get_wbio(m_ssl.get()), out.data(), static_cast<int>(out.size()));
        out.resize(static_cast<std::size_t>(std::max(0, n)));
        return out;
    }
    [[nodiscard]] bool succeeded() const { return SSL_is_init_finished(m_ssl.get()) == 1; }

private:
    static EVP_PKEY *makeKey() {
        EVP_PKEY *key = nullptr;
        const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> maker(
            EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr), &EVP_PKEY_CTX_free);
        REQUIRE(EVP_PKEY_keygen_init(maker.get()) == 1);
        REQUIRE(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker.get(), NID_X9_62_prime256v1) == 1);
        REQUIRE(EVP_PKEY_keygen(maker.get(), &key) == 1);
        return key;
    }
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> m_context;
    std::unique_ptr<SSL, decltype(&SSL_free)> m_ssl{nullptr, &SSL_free};
};

} // namespace

TEST_CASE("what either side sends arrives at the other, in whatever pieces the network brings it") {
    for (const std::size_t piece : {std::size_t(1), std::size_t(7), std::size_t(65536)}) {
        End client(Side::Client, run, secret), server(Side::Server, run, secret);
        client.tls.send("said before there is a key\n");
        (void)carry(client, server, piece);
        CHECK(client.tls.established());
        CHECK(server.tls.established());
        CHECK(server.heard == "said before there is a key\n");
        const std::string much(1'000'000, 'x');
        server.tls.send(much);
        client.tls.send("and more\n");
        const std::string carried = carry(client, server, piece);
        CHECK(client.heard == much);
        CHECK(server.heard == "said before there is a key\nand more\n");
        CHECK(carried.find("and more") == std::string::npos);
        CHECK(carried.find("xxxxxxxx") == std::string::npos);
        CHECK(carried.find(secret) == std::string::npos);
    }
}

TEST_CASE("who has another secret or means another run gets no connection, and both sides say why") {
    struct Case {
        std::string name, secret, server, client;
    };
    for (const Case &c : {Case{run, "another secret", "its token is wrong", "the token is wrong"},
                          Case{run, "", "its token is wrong", "the token is wrong"},
                          Case{"another-run\n", secret, "it is of run another-run?, this is run " + run,
                               "is of another run than another-run"}}) {
        CAPTURE(c.server);
        End client(Side::Client, c.name, c.secret), server(Side::Server, run, secret);
        client.tls.send("hello\n");
        (void)carry(client, server);
        CHECK(server.failed);
        CHECK(client.failed);
        CHECK_MESSAGE(server.error.message().find(c.server) != std::string::npos, server.error.message());
        CHECK_MESSAGE(client.error.message().find(c.client) != std::string::npos, client.error.message());
        CHECK(server.heard.empty());
        CHECK_FALSE(client.tls.established());
    }
}

TEST_CASE("who speaks no TLS is told apart, on either side") {
    for (const std::string line : {"{\"type\":\"hello\"}\n", "GET / HTTP/1.1\r\n\r\n",
                                   "\x16\x03\x01\xff\xff which no record may be as long as"}) {
        CAPTURE(line);
        End server(Side::Server, run, secret);
        server.hear(line);
        CHECK(server.failed);
        CHECK_MESSAGE(server.error.message().find("it is no agent of this version") != std::string::npos,
                      server.error.message());
        End client(Side::Client, run, secret);
        client.hear(line);
        CHECK(client.failed);
        CHECK_MESSAGE(client.error.message().find("is no agent 0 of this version") != std::string::npos,
                      client.error.message());
    }
}

TEST_CASE("a server with a certificate but without the secret is told nothing") {
    End client(Side::Client, run, secret);
    client.tls.send("hello\n");
    Impostor impostor;
    std::string bytes;
    client.tls.takeOutgoing(bytes);
    client.hear(impostor.answer(bytes));
    CHECK(client.failed);
    CHECK_FALSE(client.tls.established());
    bytes.clear();
    client.tls.takeOutgoing(bytes);
    (void)impostor.answer(bytes);
    CHECK_FALSE(impostor.succeeded());
}

TEST_CASE("a bit that is changed on the way ends the connection, and nothing of that record is taken") {
    End client(Side::Client, run, secret), server(Side::Server, run, secret);
    (void)carry(client, server);
    client.tls.send("a line that somebody changes\n");
    std::string bytes;
    client.tls.takeOutgoing(bytes);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    server.hear(bytes);
    CHECK(server.failed);
    CHECK_MESSAGE(server.error.message().find("changed on the way") != std::string::npos, server.error.message());
    CHECK(server.heard.empty());
}

TEST_CASE("what was recorded of one connection opens no other") {
    End client(Side::Client, run, secret), server(Side::Server, run, secret);
    std::string hello;
    client.tls.takeOutgoing(hello);
    server.hear(hello);
    std::string answer;
    server.tls.takeOutgoing(answer);
    client.hear(answer);
    client.tls.send("stop\n");
    std::string rest;
    client.tls.takeOutgoing(rest);
    End again(Side::Server, run, secret);
    again.hear(hello + rest);
    CHECK(again.failed);
    CHECK(again.heard.empty());
}

TEST_CASE("keys are replaced while lines go both ways") {
    const std::string line = "a line\n";
    std::size_t bytes[2] = {};
    for (const bool soon : {false, true}) {
        const std::size_t records = soon ? 10 : TlsSession::recordsAKey;
        End client(Side::Client, run, secret, records), server(Side::Server, run, secret, records);
        (void)carry(client, server);
        std::string said;
        for (int i = 0; i < 100; ++i) {
            said += line;
            client.tls.send(line);
            server.tls.send(line);
            bytes[soon] += carry(client, server).size();
        }
        CHECK_FALSE(client.failed);
        CHECK_FALSE(server.failed);
        CHECK(client.heard == said);
        CHECK(server.heard == said);
    }
    CHECK(bytes[true] >= bytes[false] + 2 * 9 * 20); // each side said nine times that it takes another key
}

TEST_CASE("a stranger's handshake ends before it takes room") {
    End server(Side::Server, run, secret);
    std::string record = "\x16\x03\x01\x40\x01\x01\x01\xff\xff"; // the beginning of a greeting of 128 KiB
    record.resize(5 + 16385, 'x');
    for (int i = 0; i < 8 && !server.failed; ++i)
        server.hear(record);
    CHECK(server.failed);
}
