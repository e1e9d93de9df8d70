// Shifts flow inside bushes from used detours to shortest segments (the inner step of Dial's Algorithm B).
//
// A pass labels a bush at the current costs and shifts flow once at every detour it finds. The pairs of segments it
// found are kept, as in Bar-Gera's TAPAS, and can be brought to equal costs again and again without new labels: that
// is ten times as cheap as a pass, and most of the work is to let the shifts of all sources settle together.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "bush.hpp"
#include "traffic.hpp"

namespace privroute {

class Equilibration {
public:
    // Forgets the pairs of segments; needed whenever a bush has been renewed.
    void forget() {
        pairs_.clear();
        steps_.clear();
    }

    // One pass over bush number `index`: label all nodes at the current costs, then visit the used entries that are not
    // on shortest paths, from the far end to the source, and shift flow from each to the shortest path of its head. An
    // entry whose detour is less than tolerance times its cost is left alone. Returns what the shifts saved, roughly.
    double pass(std::vector<Bush>& bushes, std::size_t index, Traffic& traffic, double tolerance) {
        Bush& bush = bushes[index];
        label(bush, traffic, tolerance);
        double saved = 0.0;
        for (auto detour = detours_.rbegin(); detour != detours_.rend(); ++detour) {
            const Pair pair = trace(bush, static_cast<std::int32_t>(index), *detour);
            if (const double saving = shift(bush, traffic, pair); saving > 0.0) {
                saved += saving;
                pairs_.push_back(pair);
            } else {
                steps_.resize(static_cast<std::size_t>(pair.begin));
            }
        }
        return saved;
    }

    // Shifts flow once more at every pair of segments found since forget(), in either direction. Returns what it saved.
    double repeat(std::vector<Bush>& bushes, Traffic& traffic) {
        double saved = 0.0;
        for (const Pair& pair : pairs_) saved += shift(bushes[pair.bush], traffic, pair);
        return saved;
    }

private:
    // How to go back from a node: on the shortest path, and where most of the flow comes from.
    struct Choice {
        std::int32_t shortest;
        std::int32_t heaviest;
    };
    struct Detour {
        Position merge;
        std::int32_t entry;
    };
    struct Step {
        std::int32_t entry;
        Link link;
    };
    // Two segments from one node to another: steps_[begin .. middle) and steps_[middle .. end), in any order.
    struct Pair {
        std::int32_t bush;
        std::int32_t begin, middle, end;
    };
    using Steps = std::span<const Step>;

    void label(const Bush& bush, const Traffic& traffic, double tolerance) {
        const Position size = bush.size();
        if (shortest_.size() < bush.order.size()) {
            shortest_.resize(bush.order.size());
            choice_.resize(bush.order.size());
        }
        detours_.clear();
        shortest_[0] = 0.0;
        const BushEntry* entries = bush.entries.data();
        const double* cost = traffic.cost.data();
        const double* flow = bush.flow.data();
        std::int32_t begin = 0;
        for (Position k = 1; k < size; ++k) {
            const std::int32_t end = bush.start[k + 1];
            if (end - begin == 1) {
                shortest_[k] = shortest_[entries[begin].tail] + cost[entries[begin].link];
                choice_[k] = {begin, begin};
            } else {
                double best = std::numeric_limits<double>::infinity();
                Choice choice{begin, begin};
                for (std::int32_t e = begin; e < end; ++e) {
                    const double candidate = shortest_[entries[e].tail] + cost[entries[e].link];
                    if (candidate < best) {
                        best = candidate;
                        choice.shortest = e;
                    }
                    if (flow[e] > flow[choice.heaviest]) choice.heaviest = e;
                }
                shortest_[k] = best;
                choice_[k] = choice;
                for (std::int32_t e = begin; e < end; ++e) {
                    if (e == choice.shortest || !(flow[e] > 0.0)) continue;
                    const double detour = shortest_[entries[e].tail] + cost[entries[e].link] - best;
                    if (detour > tolerance * best) detours_.push_back({k, e});
                }
            }
            begin = end;
        }
    }

    // Follows the detour and the shortest path from the merge back to the node where they part. The detour goes back
    // to where most of the flow comes from, so that there is something to shift.
    Pair trace(const Bush& bush, std::int32_t index, Detour detour) {
        const BushEntry* entries = bush.entries.data();
        const auto begin = static_cast<std::int32_t>(steps_.size());
        short_.clear();
        Position a = entries[detour.entry].tail, b = detour.merge;
        steps_.push_back({detour.entry, entries[detour.entry].link});
        while (a != b) {
            const bool detouring = a > b;  // the later of the two nodes steps back
            const std::int32_t e = detouring ? choice_[a].heaviest : choice_[b].shortest;
            (detouring ? steps_ : short_).push_back({e, entries[e].link});
            (detouring ? a : b) = entries[e].tail;
        }
        const auto middle = static_cast<std::int32_t>(steps_.size());
        steps_.insert(steps_.end(), short_.begin(), short_.end());
        return {index, begin, middle, static_cast<std::int32_t>(steps_.size())};
    }

    // Moves flow from the dearer to the cheaper segment of a pair, by a Newton step towards equal costs. Returns
    // the flow moved times the difference of costs before.
    double shift(Bush& bush, Traffic& traffic, const Pair& pair) {
        Steps from(steps_.data() + pair.begin, steps_.data() + pair.middle);
        Steps to(steps_.data() + pair.middle, steps_.data() + pair.end);
        double excess = 0.0, slope = 0.0;
        for (const Step& step : from) {
            excess += traffic.cost[step.link];
            slope += traffic.slope[step.link];
        }
        for (const Step& step : to) {
            excess -= traffic.cost[step.link];
            slope += traffic.slope[step.link];
        }
        if (excess < 0.0) {
            std::swap(from, to);
            excess = -excess;
        }
        double available = std::numeric_limits<double>::infinity();
        for (const Step& step : from) available = std::min(available, bush.flow[step.entry]);
        if (!(excess > 0.0) || !(available > 0.0)) return 0.0;
        const bool steep = traffic.any_steep && any_steep(traffic, pair);
        const double newton = excess < slope * available ? excess / slope : available;
        const double amount = steep ? available : newton;
        move(bush, traffic, from, to, amount);
        if (traffic.all_straight) return amount * excess;
        const double left = imbalance(traffic, from, to);
        if (left < -0.5 * excess)
            settle(bush, traffic, from, to, amount, excess, left, steep ? 1e-3 * excess : 0.5 * excess);
        return amount * excess;
    }

    // The step went too far (the curve bends away from its tangent): search the point of equal costs between none and
    // `amount` until the costs differ by at most `enough`. Regula falsi with Illinois' halving, and now and then a
    // geometric mean, because a curve with infinite slope at zero has its answer many orders of magnitude below.
    static void settle(Bush& bush, Traffic& traffic, Steps from, Steps to, double amount, double at_low, double at_high,
                       double enough) {
        double low = 0.0, high = amount, now = amount;
        for (int step = 0; step < 100 && high - low > 1e-15 * high; ++step) {
            double next = low + (high - low) * (at_low / (at_low - at_high));
            if (step % 4 == 3) next = low > 0.0 ? std::sqrt(low * high) : 1e-3 * high;
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            move(bush, traffic, from, to, next - now);
            now = next;
            const double left = imbalance(traffic, from, to);
            if (std::abs(left) <= enough) return;
            if (left > 0.0) {
                low = now;
                at_low = left;
                at_high *= 0.5;
            } else {
                high = now;
                at_high = left;
                at_low *= 0.5;
            }
        }
    }

    static void move(Bush& bush, Traffic& traffic, Steps from, Steps to, double amount) {
        for (const Step& step : from) change(bush, traffic, step, -amount);
        for (const Step& step : to) change(bush, traffic, step, amount);
    }

    static void change(Bush& bush, Traffic& traffic, Step step, double amount) {
        const double before = bush.flow[step.entry];
        double after = before + amount;
        if (after < 1e-14 * before) after = 0.0;  // a remainder of rounding, not a flow
        bush.flow[step.entry] = after;
        traffic.add(step.link, after - before);
    }

    static double imbalance(const Traffic& traffic, Steps from, Steps to) {
        double difference = 0.0;
        for (const Step& step : from) difference += traffic.cost[step.link];
        for (const Step& step : to) difference -= traffic.cost[step.link];
        return difference;
    }

    [[nodiscard]] bool any_steep(const Traffic& traffic, const Pair& pair) const {
        return std::any_of(steps_.begin() + pair.begin, steps_.begin() + pair.end,
                           [&](const Step& step) { return traffic.curve[step.link].steep(); });
    }

    std::vector<double> shortest_;
    std::vector<Choice> choice_;
    std::vector<Detour> detours_;
    std::vector<Pair> pairs_;
    std::vector<Step> steps_, short_;
};

}  // namespace privroute
