// Python face of route texts.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "bindings.hpp"
#include "bush_arrays.hpp"
#include "bush_walks.hpp"
#include "parallel.hpp"
#include "route_text.hpp"

namespace privroute {
namespace {

using namespace nb::literals;

// Labels and link values, kept alive for as long as Python holds them.
class WriterArrays {
public:
    WriterArrays(Array<Node> tail, Array<Node> head, Array<std::int64_t> node_start, nb::bytes node_text,
                 Array<std::int64_t> link_start, nb::bytes link_text, Array<double> duration, Array<double> free_flow,
                 Array<double> length, Array<double> weight, bool fine)
        : tail_(std::move(tail)),
          head_(std::move(head)),
          node_start_(std::move(node_start)),
          link_start_(std::move(link_start)),
          node_text_(std::move(node_text)),
          link_text_(std::move(link_text)),
          duration_(std::move(duration)),
          free_flow_(std::move(free_flow)),
          length_(std::move(length)),
          weight_(std::move(weight)),
          fine_(fine) {
        const std::size_t links = tail_.size();
        if (head_.size() != links || link_start_.size() != links + 1 || duration_.size() != links ||
            free_flow_.size() != links || weight_.size() != links || (length_.size() != links && length_.size() != 0))
            throw std::invalid_argument("the arrays of a writer differ in length");
    }

    // The object of one pair of a policy by origin, with `opening` in the place of its brace: what a single question is
    // answered with, in one step.
    nb::bytes write_pair(const BushArrays& bushes, std::size_t pair, std::size_t limit,
                         const nb::bytes& opening) const {
        const BushesView policy = bushes.view();
        if (pair >= policy.pairs() || policy.head.size() != tail_.size())
            throw std::invalid_argument("the pair is not one of the policy, or the policy has another network");
        std::string out(opening.c_str(), opening.size());
        JsonText text(out);
        const RouteWriter writer = view();
        BushTable table(policy);
        table.use(static_cast<std::size_t>(policy.bush_of_pair[pair]));
        BestWalks walks(table);
        std::vector<Link> path;
        double listed = 0.0;
        bool first = true;
        text.add("\"routes\":[");
        for_each_best(table, walks, policy.destination[pair], limit, path,
                      [&](double probability, std::uint64_t, std::span<const Link> links) {
                          if (!first) text.add(",");
                          first = false;
                          writer.route(out, probability, links);
                          listed += probability;
                      });
        text.add("]");
        remaining(text, listed);
        text.add("}");
        return nb::bytes(out.data(), out.size());
    }

    // Objects of the pairs, separated by commas, in pieces that belong one after the other.
    std::vector<Owned<std::uint8_t>> write(const Array<std::int64_t>& first, const Array<std::int64_t>& start,
                                           const Array<Link>& links, const Array<double>& probability,
                                           bool with_remaining, int threads) const {
        constexpr std::size_t pairs_at_once = 2048;
        const std::size_t pairs = first.size() - 1;
        std::vector<std::string> pieces((pairs + pairs_at_once - 1) / pairs_at_once);
        {
            nb::gil_scoped_release unlocked;
            const RouteWriter writer = view();
            parallel_for(pieces.size(), threads, [&](std::size_t, std::size_t piece) {
                std::string& out = pieces[piece];
                JsonText text(out);
                const std::size_t end = std::min(pairs, (piece + 1) * pairs_at_once);
                for (std::size_t pair = piece * pairs_at_once; pair < end; ++pair) {
                    text.add("{\"routes\":[");
                    double listed = 0.0;
                    for (std::int64_t route = first.data()[pair]; route < first.data()[pair + 1]; ++route) {
                        if (route > first.data()[pair]) text.add(",");
                        const std::int64_t begin = start.data()[route];
                        writer.route(out, probability.data()[route],
                                     {links.data() + begin, static_cast<std::size_t>(start.data()[route + 1] - begin)});
                        listed += probability.data()[route];
                    }
                    text.add("]");
                    if (with_remaining) remaining(text, listed);
                    text.add(pair + 1 < pairs ? "}," : "}");
                }
            });
        }
        std::vector<Owned<std::uint8_t>> given;
        for (std::string& piece : pieces) {
            auto* kept = new std::string(std::move(piece));
            nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::string*>(p); });
            given.emplace_back(Owned<std::uint8_t>(kept->data(), {kept->size()}, owner));
        }
        return given;
    }

private:
    static void remaining(JsonText& text, double listed) {
        const double left = 1.0 - listed;
        text.add(",\"remaining_probability\":");
        text.number(left > 1e-12 ? left : 0.0);  // below this it is rounding
    }

    [[nodiscard]] RouteWriter view() const {
        using privroute::view;
        return {view(tail_),
                view(head_),
                {view(node_start_), {node_text_.c_str(), node_text_.size()}},
                {view(link_start_), {link_text_.c_str(), link_text_.size()}},
                view(duration_),
                view(free_flow_),
                view(length_),
                view(weight_),
                fine_};
    }

    Array<Node> tail_, head_;
    Array<std::int64_t> node_start_, link_start_;
    nb::bytes node_text_, link_text_;
    Array<double> duration_, free_flow_, length_, weight_;
    bool fine_;
};

// The number as JSON text, for the tests.
nb::bytes json_number(double value, bool tenths) {
    std::string out;
    JsonText text(out);
    if (tenths)
        text.tenths(value);
    else
        text.number(value);
    return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_text(nb::module_& module) {
    nb::class_<WriterArrays>(module, "RouteWriter")
        .def(nb::init<Array<Node>, Array<Node>, Array<std::int64_t>, nb::bytes, Array<std::int64_t>, nb::bytes,
                      Array<double>, Array<double>, Array<double>, Array<double>, bool>(),
             nb::kw_only(), "tail"_a, "head"_a, "node_start"_a, "node_text"_a, "link_start"_a, "link_text"_a,
             "duration"_a, "free_flow"_a, "length"_a, "weight"_a, "fine"_a)
        .def("write_pair", &WriterArrays::write_pair, "bushes"_a, "pair"_a, "limit"_a, "opening"_a)
        .def("write", &WriterArrays::write, "first"_a, "start"_a, "links"_a, "probability"_a, nb::kw_only(),
             "with_remaining"_a, "threads"_a);
    module.def("json_number", &json_number, "value"_a, "tenths"_a);
}

}  // namespace privroute
