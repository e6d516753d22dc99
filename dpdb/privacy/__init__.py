"""The privacy package: exact shares of epsilon, notions of privacy, discrete noise, private selection.

Only this package draws random numbers, only in `noise`, and only through OpenDP's exact samplers. It sees integers,
never graphs, tables or SQL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.privacy.climbing import (
        UNIT as UNIT,
        HandicappedNoise as HandicappedNoise,
        HiddenNoise as HiddenNoise,
        climb as climb,
        difference_tail as difference_tail,
        draw_hidden_noise as draw_hidden_noise,
        height_above as height_above,
        in_units as in_units,
    )
    from dpdb.privacy.epsilon import (
        GDP as GDP,
        NANO as NANO,
        NOTIONS as NOTIONS,
        PICO as PICO,
        PURE as PURE,
        ZCDP as ZCDP,
        Notion as Notion,
        Number as Number,
        as_float as as_float,
        as_fraction as as_fraction,
        format_epsilon as format_epsilon,
        format_rho as format_rho,
        gdp_delta as gdp_delta,
        parse_epsilon as parse_epsilon,
        parse_rho as parse_rho,
        rho_as_float as rho_as_float,
        split as split,
    )
    from dpdb.privacy.noise import (
        bounded_range_max as bounded_range_max,
        check_samplers as check_samplers,
        discrete_gaussian as discrete_gaussian,
        discrete_gaussians as discrete_gaussians,
        discrete_laplace as discrete_laplace,
        discrete_laplaces as discrete_laplaces,
        gaussian_scale as gaussian_scale,
        gaussian_tail as gaussian_tail,
        gumbel_scale as gumbel_scale,
        laplace_difference_tail as laplace_difference_tail,
        laplace_scale as laplace_scale,
        laplace_sum_tail as laplace_sum_tail,
        laplace_tail as laplace_tail,
        noisy_max as noisy_max,
        one_sided_noises as one_sided_noises,
    )
    from dpdb.privacy.selection import (
        marginal_choice as marginal_choice,
        paper_exponential_mechanism as paper_exponential_mechanism,
        paper_grid as paper_grid,
        peeled as peeled,
        rho_of_choice as rho_of_choice,
        thirds_grid as thirds_grid,
        tripling_grid as tripling_grid,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
