// The arrays of a policy by origin, kept alive for as long as Python holds them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <utility>

#include "arrays.hpp"
#include "policy_bushes.hpp"

namespace privroute {

class BushArrays {
public:
    BushArrays(Array<Node> tail, Array<Node> head, Array<std::uint8_t> no_through, Array<Node> origin,
               Array<Node> destination, Array<Node> root, Array<std::int64_t> link_start, Array<Link> links,
               Array<std::int64_t> share_start, Array<double> share, Array<std::int32_t> bush_of_pair)
        : tail_(std::move(tail)),
          head_(std::move(head)),
          no_through_(std::move(no_through)),
          origin_(std::move(origin)),
          destination_(std::move(destination)),
          root_(std::move(root)),
          link_start_(std::move(link_start)),
          links_(std::move(links)),
          share_start_(std::move(share_start)),
          share_(std::move(share)),
          bush_of_pair_(std::move(bush_of_pair)) {
        const std::size_t starts = root_.size() + 1, pairs = origin_.size();
        if (tail_.size() != head_.size() || link_start_.size() != starts || share_start_.size() != starts ||
            destination_.size() != pairs || bush_of_pair_.size() != pairs)
            throw std::invalid_argument("the arrays of a policy differ in length");
    }

    [[nodiscard]] BushesView view() const {
        using privroute::view;
        return {view(head_),  view(tail_),        no_through_.size(), view(root_),         view(link_start_),
                view(links_), view(share_start_), view(share_),       view(bush_of_pair_), view(destination_)};
    }
    [[nodiscard]] std::span<const std::uint8_t> no_through() const { return privroute::view(no_through_); }
    [[nodiscard]] std::span<const Node> origin() const { return privroute::view(origin_); }

private:
    Array<Node> tail_, head_;
    Array<std::uint8_t> no_through_;
    Array<Node> origin_, destination_, root_;
    Array<std::int64_t> link_start_;
    Array<Link> links_;
    Array<std::int64_t> share_start_;
    Array<double> share_;
    Array<std::int32_t> bush_of_pair_;
};

}  // namespace privroute
