"""Certificates with another guarantee than the one they were made with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import privroute as pr

__all__ = ["for_policy", "with_guarantee"]


def with_guarantee(certificate: pr.Certificate, changes: dict[str, Any] | None) -> pr.Certificate:
    """The certificate with these numbers in its study's guarantee, or with none."""
    guarantee = None if changes is None else certificate.study["guarantee"] | changes
    return replace(certificate, study={**certificate.study, "guarantee": guarantee})


def for_policy(certificate: pr.Certificate, policy: pr.RoutingPolicy) -> pr.Certificate:
    """The certificate with the sizes of another policy's network and pairs."""
    network = {"source": None, "nodes": policy.network.nodes, "links": policy.network.links}
    return replace(certificate, study={**certificate.study, "network": network, "pairs": len(policy.pairs)})
