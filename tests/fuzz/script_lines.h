// SPDX-License-Identifier: MIT
#pragma once
// What a script reports by hand, with odd numbers (NaN, infinite, negative, zero, tiny, huge) among the sane ones.
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace lockstep::fuzz {

using Random = std::mt19937_64;

/// Mostly the sane value, now and then an odd one; JSON text.
class Numbers {
public:
    Numbers(Random &random, int oddOneIn) : m_random(random), m_oddOneIn(oddOneIn) {}
    std::string operator()(double sane) {
        static const std::vector<std::string> odd = {
            "\"NaN\"",      "\"Inf\"", "\"-Inf\"", "-1",  "0",   "-0.0", "1e308", "-1e308",
            "5e-324",       "1e-300",  "1e38",     "3e9", "1e9", "1e-9", "null",  "9223372036854775807",
            "1000000000000"};
        if (m_random() % std::uint64_t(m_oddOneIn) == 0)
            return odd[m_random() % odd.size()];
        return nlohmann::json(sane).dump();
    }
    std::string whole(std::int64_t sane) {
        static const std::vector<std::string> odd = {"0", "-1", "1000000000000", "9223372036854775807", "null"};
        return m_random() % std::uint64_t(m_oddOneIn) == 0 ? odd[m_random() % odd.size()] : std::to_string(sane);
    }

private:
    Random &m_random;
    int m_oddOneIn;
};

/// The lines of one rank of a script, as it might write them by hand.
class Script {
public:
    static constexpr int epochs = 3;
    static constexpr std::int64_t startUs = 1'700'000'000'000'000;

    explicit Script(Numbers number, std::int64_t beginUs = startUs) : m_number(number), m_beginUs(beginUs) {}
    std::vector<std::string> lines(double epochS) {
        for (int epoch = 1; epoch <= epochs; ++epoch) {
            for (int window = 0; window < 3; ++window)
                steps(epoch, 30 * (epoch - 1) + 10 * window, epochS / 3);
            add("epoch", R"("epoch":)" + std::to_string(epoch) + R"(,"loss":)" + m_number(1.0 / epoch) +
                             R"(,"duration_s":)" + m_number(epochS) + R"(,"samples":)" + m_number.whole(1920) +
                             R"(,"steps":)" + m_number.whole(30) + R"(,"start_mono_ns":)" + m_number.whole(m_rseq) +
                             "," + phases(epochS) + "," + scalars() +
                             R"(,"devices":[{"device":"cpu:0","utilization_mean":)" + m_number(0.9) +
                             R"(,"memory_max_bytes":)" + m_number(1e9) + "}]");
            add("eval", R"("epoch":)" + std::to_string(epoch) + R"(,"accuracy":)" + m_number(0.8) + R"(,"loss":)" +
                            m_number(0.4) + R"(,"samples":)" + m_number.whole(100) + R"(,"duration_s":)" +
                            m_number(0.1) + R"(,"per_class_accuracy":[)" + m_number(0.7) + "," + m_number(0.9) + "]");
            add("device", R"("interval_s":)" + m_number(0.2) +
                              R"(,"devices":[{"device":"cpu:0","kind":"cpu","utilization":)" + m_number(0.5) +
                              R"(,"power_w":)" + m_number(60) + "}]");
        }
        return std::move(m_lines);
    }

private:
    void add(const std::string &type, const std::string &body) {
        const std::string number = std::to_string(m_rseq++);
        m_lines.push_back(R"({"type":")" + type + R"(","rank":0,"rseq":)" + number + R"(,"mono_ns":1)" +
                          std::string(9 - number.size(), '0') + number + R"(,"wall_us":)" +
                          std::to_string(m_beginUs + m_rseq * std::int64_t(100'000)) + "," + body + "}");
    }
    std::string phases(double seconds) {
        std::string out = R"("phases":{)";
        for (const char *name : {"load", "forward", "backward", "comm", "wait"})
            out += (out.back() == '{' ? "\"" : ",\"") + std::string(name) + R"(":{"sum_s":)" + m_number(seconds / 3) +
                   R"(,"max_s":)" + m_number(seconds / 30) + "}";
        return out + "}";
    }
    std::string scalars() {
        return R"("scalars":{"temperature":)" + m_number(0.7) + R"(,"grad_norm":{"sum":)" + m_number(10) +
               R"(,"weight":)" + m_number(10) + R"(,"max":)" + m_number(2) + "}}";
    }
    void steps(int epoch, int first, double seconds) {
        add("steps", R"("epoch":)" + std::to_string(epoch) + R"(,"first_step":)" + std::to_string(first) +
                         R"(,"last_step":)" + std::to_string(first + 9) + R"(,"count":)" + m_number.whole(10) +
                         R"(,"samples":)" + m_number.whole(640) + R"(,"loss":{"min":)" + m_number(1) + R"(,"mean":)" +
                         m_number(1.5) + R"(,"max":)" + m_number(2) + R"(,"last":)" + m_number(1.2) + "}," +
                         phases(seconds) + "," + scalars());
    }

    Numbers m_number;
    std::int64_t m_beginUs;
    std::vector<std::string> m_lines;
    int m_rseq = 0;
};

} // namespace lockstep::fuzz
