"""The privacy room: exact shares of epsilon, notions of privacy, discrete noise, private selection.

Only this room draws random numbers, only in `noise`, and only through OpenDP's exact samplers. It sees integers, never
graphs, tables or SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.privacy.climbing import (
        UNIT,
        HandicappedNoise,
        HiddenNoise,
        climb,
        difference_tail,
        draw_hidden_noise,
        height_above,
        in_units,
    )
    from dpdb.privacy.epsilon import (
        GDP,
        NANO,
        NOTIONS,
        PURE,
        ZCDP,
        Notion,
        Number,
        as_float,
        as_fraction,
        format_epsilon,
        format_rho,
        gdp_delta,
        parse_epsilon,
        parse_rho,
        rho_as_float,
        split,
    )
    from dpdb.privacy.noise import (
        check_samplers,
        discrete_gaussian,
        discrete_laplace,
        discrete_laplaces,
        gaussian_tail,
        laplace_difference_tail,
        laplace_scale,
        laplace_sum_tail,
        laplace_tail,
        noisy_max,
        one_sided_noises,
    )
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
            "climbing": (
                "HandicappedNoise HiddenNoise UNIT climb difference_tail draw_hidden_noise height_above in_units"
            ),
            "epsilon": (
                "GDP NANO NOTIONS Notion Number PURE ZCDP as_float as_fraction format_epsilon format_rho "
                "gdp_delta parse_epsilon parse_rho rho_as_float split"
            ),
            "noise": (
                "check_samplers discrete_gaussian discrete_laplace discrete_laplaces gaussian_tail "
                "laplace_difference_tail laplace_scale laplace_sum_tail laplace_tail noisy_max "
                "one_sided_noises"
            ),
            "selection": (
                "generalized_exponential_mechanism marginal_choice paper_exponential_mechanism paper_grid "
                "peeled power_grid thirds_grid tripling_grid"
            ),
        },
    )
