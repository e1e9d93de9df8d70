// The nearest of some places on the Earth: one point at a time, so that its answer depends on that point alone.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <vector>

namespace privroute {

struct OnSphere {
    double x, y, z;

    OnSphere(double longitude, double latitude) {
        const double east = longitude * (std::numbers::pi / 180), north = latitude * (std::numbers::pi / 180);
        x = std::cos(north) * std::cos(east);
        y = std::cos(north) * std::sin(east);
        z = std::sin(north);
    }
};

class NearestPlace {
public:
    // longitude, latitude : of the places, degrees
    // largest_chord : of the unit sphere, beyond which nothing is near
    NearestPlace(std::span<const double> longitude, std::span<const double> latitude, double largest_chord)
        : largest_(largest_chord * largest_chord) {
        for (std::size_t place = 0; place < longitude.size(); ++place) {
            const OnSphere at(longitude[place], latitude[place]);
            x_.push_back(at.x);
            y_.push_back(at.y);
            z_.push_back(at.z);
        }
    }

    // The place at the least squared chord, the first of equal ones; -1 for points that are not on the Earth or not
    // near.
    std::int32_t operator()(double longitude, double latitude) const {
        if (!(std::abs(longitude) <= 180 && std::abs(latitude) <= 90)) return -1;
        const OnSphere at(longitude, latitude);
        double least = largest_;
        std::int32_t nearest = -1;
        for (std::size_t place = 0; place < x_.size(); ++place) {
            const double dx = at.x - x_[place], dy = at.y - y_[place], dz = at.z - z_[place];
            const double chord = dx * dx + dy * dy + dz * dz;
            if (chord < least || (nearest < 0 && chord == least)) {
                least = chord;
                nearest = static_cast<std::int32_t>(place);
            }
        }
        return nearest;
    }

private:
    double largest_;
    std::vector<double> x_, y_, z_;
};

}  // namespace privroute
