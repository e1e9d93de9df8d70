// Numbers with twice the digits of double: an unevaluated sum high + low (Dekker 1971; Knuth's two-sum).
//
// Only what the exact projection needs. Relative error of each operation below 2^-100. Compiled without contraction of
// products and sums (CMakeLists.txt), which would break the error-free transformations.
#pragma once

namespace privroute {

struct DoubleDouble {
    double high = 0.0;
    double low = 0.0;

    constexpr DoubleDouble() = default;
    constexpr DoubleDouble(double value) : high(value) {}  // NOLINT: a double is one
    constexpr DoubleDouble(double h, double l) : high(h), low(l) {}

    // The exact sum of two doubles.
    static constexpr DoubleDouble sum(double a, double b) {
        const double s = a + b, part = s - a;
        return {s, (a - (s - part)) + (b - part)};
    }

    friend constexpr DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
        DoubleDouble s = sum(a.high, b.high);
        const DoubleDouble t = sum(a.low, b.low);
        s = sum(s.high, s.low + t.high);
        return sum(s.high, s.low + t.low);
    }
    // The product with a power of 2: exact.
    [[nodiscard]] constexpr DoubleDouble scaled(double power_of_two) const {
        return {high * power_of_two, low * power_of_two};
    }
    friend constexpr DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }
    friend constexpr DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }
    friend constexpr bool operator<(DoubleDouble a, DoubleDouble b) {
        return a.high < b.high || (a.high == b.high && a.low < b.low);
    }
    [[nodiscard]] constexpr DoubleDouble magnitude() const { return high < 0.0 ? -*this : *this; }
};

}  // namespace privroute
