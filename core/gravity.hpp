// Balancing a gravity model: g_od = a_o decay_od b_d with given row and column totals.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace privroute {

struct GravityPairs {
    std::span<const std::int32_t> origin;  // by pair: position among the rows
    std::span<const std::int32_t> destination;
    std::span<const double> decay;
};

// wanted / found, zero where nothing was found; bounded, since totals that no model meets drive the factors on.
inline double balancing_factor(double wanted, double found, double largest) {
    return found > 1.0 / largest ? std::min(wanted / found, largest) : 0.0;
}

// Scales rows and columns in turn, at most `steps` times, until the rows miss their totals by `tolerance` at most.
// `in` has the columns' factors to start from; both factors are replaced.
inline void balance(const GravityPairs& pairs, std::span<const double> rows, std::span<const double> columns, int steps,
                    double tolerance, double largest, std::vector<double>& out, std::vector<double>& in) {
    out.assign(rows.size(), 0.0);
    std::vector<double> sent(rows.size()), received(columns.size());
    const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
    for (int step = 0; step < steps; ++step) {
        std::fill(sent.begin(), sent.end(), 0.0);
        for (std::size_t p = 0; p < pairs.decay.size(); ++p)
            sent[at(pairs.origin[p])] += pairs.decay[p] * in[at(pairs.destination[p])];
        double off = 0.0;
        for (std::size_t r = 0; r < rows.size(); ++r) off += std::abs(out[r] * sent[r] - rows[r]);
        if (off <= tolerance) return;
        for (std::size_t r = 0; r < rows.size(); ++r) out[r] = balancing_factor(rows[r], sent[r], largest);
        std::fill(received.begin(), received.end(), 0.0);
        for (std::size_t p = 0; p < pairs.decay.size(); ++p)
            received[at(pairs.destination[p])] += pairs.decay[p] * out[at(pairs.origin[p])];
        for (std::size_t c = 0; c < columns.size(); ++c) in[c] = balancing_factor(columns[c], received[c], largest);
    }
}

}  // namespace privroute
