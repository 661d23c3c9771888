// The ports of workers as resources that messages share: out and in of every worker, and of every
// way that several workers share, as the cards of a node and the uplinks of a rack. Links
// inside nodes are ports of their own, which messages to other nodes take, too, where workers have
// no other link to leave by.
#pragma once

#include "sim/net/resources.h"

namespace sgdsim {

class PortResources : public Resources {
 public:
  explicit PortResources(const Network& network);

  // A port gives all its time. What a message takes of it is the time that a byte keeps it busy.
  std::vector<double> capacities() const override;
  bool find(const Parcel& parcel, Part part, std::vector<ResourceUse>& uses) override;
  bool are_routes() const override { return false; }
  ResourceName name_of(uint32_t resource) const override;
  bool open(std::span<const uint32_t>, bool) override { return false; }  // ports do not close

 private:
  PerByte inner_rate(int worker) const;
  // What a byte of a message keeps a port busy that takes so long for one, beside slower ways.
  double per_byte(const Parcel& parcel, Duration busy, PerByte port, bool stays) const;

  const Network& network_;
  int node_;
  std::size_t outer_;  // ports
};

}  // namespace sgdsim
