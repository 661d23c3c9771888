// Resources by their classes, and back.
#include <algorithm>

#include "sim/play/stand_ins.h"

namespace sgdsim {

std::vector<double> StandIns::spread_carried(const std::vector<double>& of_classes) const {
  if (of_classes.empty()) return {};
  std::vector<double> all;
  all.reserve(class_of.size());
  for (const uint32_t number : class_of) all.push_back(of_classes[number]);
  return all;
}

std::vector<double> AlikeResources::capacities() const {
  const std::vector<double> all = all_.capacities();
  std::vector<double> of_classes(stand_ins_.class_sizes.size());
  for (std::size_t i = 0; i < all.size(); ++i) of_classes[stand_ins_.class_of[i]] = all[i];
  return of_classes;
}

// All members of the sender's class send such a message at the same time, and the resources of a
// class take even parts of them.
bool AlikeResources::find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) {
  found_.clear();
  if (!all_.find(parcel, part, found_)) return false;
  const std::size_t before = uses.size();
  for (const ResourceUse& use : found_) {
    const uint32_t number = stand_ins_.class_of[use.resource];
    const auto same = std::find_if(uses.begin() + static_cast<std::ptrdiff_t>(before), uses.end(),
                                   [&](const ResourceUse& one) { return one.resource == number; });
    if (same == uses.end())
      uses.push_back({number, use.share});
    else
      same->share += use.share;
  }
  const auto senders = static_cast<double>(stand_ins_.size_of(parcel.from));
  for (auto use = uses.begin() + static_cast<std::ptrdiff_t>(before); use != uses.end(); ++use) {
    const auto ways = static_cast<double>(stand_ins_.class_sizes[use->resource]);
    if (senders != ways) use->share = use->share * senders / ways;
  }
  return true;
}

ResourceName AlikeResources::name_of(uint32_t resource) const {
  const auto first = std::find(stand_ins_.class_of.begin(), stand_ins_.class_of.end(), resource);
  return all_.name_of(static_cast<uint32_t>(first - stand_ins_.class_of.begin()));
}

}  // namespace sgdsim
