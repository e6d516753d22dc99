"""The privacy room: exact shares of epsilon, notions of privacy, discrete noise, private selection.

Only this room draws random numbers, only in `noise`, and only through OpenDP's exact samplers. It sees integers, never
graphs, tables or SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.privacy.climbing import UNIT, HiddenNoise, climb, draw_hidden_noise, height_above, in_units
    from dpdb.privacy.epsilon import (
        NANO,
        as_float,
        as_fraction,
        format_epsilon,
        format_rho,
        parse_epsilon,
        parse_rho,
        rho_as_float,
        split,
    )
    from dpdb.privacy.handicapped_noise import HandicappedNoise, difference_tail
    from dpdb.privacy.noise import (
        check_samplers,
        discrete_gaussian,
        discrete_laplace,
        discrete_laplaces,
        laplace_scale,
        noisy_max,
    )
    from dpdb.privacy.notions import GDP, NOTIONS, PURE, ZCDP, Notion, Number, gdp_delta
    from dpdb.privacy.one_sided import one_sided_noises
    from dpdb.privacy.selection import (
        generalized_exponential_mechanism,
        marginal_choice,
        paper_exponential_mechanism,
        paper_grid,
        peeled,
        power_grid,
        thirds_grid,
        tripling_grid,
    )
    from dpdb.privacy.tails import gaussian_tail, laplace_difference_tail, laplace_sum_tail, laplace_tail

__all__ = [
    "GDP",
    "NANO",
    "NOTIONS",
    "PURE",
    "UNIT",
    "ZCDP",
    "HandicappedNoise",
    "HiddenNoise",
    "Notion",
    "Number",
    "as_float",
    "as_fraction",
    "check_samplers",
    "climb",
    "difference_tail",
    "discrete_gaussian",
    "discrete_laplace",
    "discrete_laplaces",
    "draw_hidden_noise",
    "format_epsilon",
    "format_rho",
    "gaussian_tail",
    "gdp_delta",
    "generalized_exponential_mechanism",
    "height_above",
    "in_units",
    "laplace_difference_tail",
    "laplace_scale",
    "laplace_sum_tail",
    "laplace_tail",
    "marginal_choice",
    "noisy_max",
    "one_sided_noises",
    "paper_exponential_mechanism",
    "paper_grid",
    "parse_epsilon",
    "parse_rho",
    "peeled",
    "power_grid",
    "rho_as_float",
    "split",
    "thirds_grid",
    "tripling_grid",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "climbing": "HiddenNoise UNIT climb draw_hidden_noise height_above in_units",
            "epsilon": "NANO as_float as_fraction format_epsilon format_rho parse_epsilon parse_rho rho_as_float split",
            "handicapped_noise": "HandicappedNoise difference_tail",
            "noise": "check_samplers discrete_gaussian discrete_laplace discrete_laplaces laplace_scale noisy_max",
            "notions": "GDP NOTIONS Notion Number PURE ZCDP gdp_delta",
            "one_sided": "one_sided_noises",
            "selection": "generalized_exponential_mechanism paper_exponential_mechanism paper_grid power_grid peeled "
            "marginal_choice thirds_grid tripling_grid",
            "tails": "gaussian_tail laplace_difference_tail laplace_tail laplace_sum_tail",
        },
    )
