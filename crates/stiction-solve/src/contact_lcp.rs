//! The LCP of contacts with polygonal friction, kept in the shape in which it arises and never
//! written out.
//!
//! $$ \begin{aligned}
//! 0 \le \beta_i &\perp d_i^T u_t + \lambda \ge 0, \\\\
//! 0 \le c_n &\perp u_n \ge 0, \\\\
//! 0 \le \lambda &\perp \mu c_n + a - \textstyle\sum_i \beta_i \ge 0,
//! \end{aligned} \qquad u = b + W c, \quad c_t = \textstyle\sum_i d_i \beta_i, $$
//!
//! for each group of rows $u = (u_n, u_t)$ with impulses $c = (c_n, c_t)$: a contact, or friction
//! without a normal row (\[ST96\] (29), (32)). With $k$ directions a contact has $k + 2$ unknowns
//! but only three rows, so a product with the LCP's matrix costs about a tenth of what its
//! written-out form would.

use std::ops::Range;

use faer::Mat;

use crate::active_inverse::{add_multiple, padded};
use crate::lcp::{check_finite_vector, first_not_finite, nearest_power_of_two};
use crate::residual::contact_lcp_residual;
use crate::{Lcp, LemkeProblem, ProblemError};

/// What a [`ContactLcp`] is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContactLcpData {
    /// $W$ over all rows, column after column.
    pub delassus: Vec<f64>,
    /// $b$: the rates of the rows without impulses.
    pub free_rates: Vec<f64>,
    /// Contacts and friction elements.
    pub groups: Vec<FrictionGroup>,
    /// Friction directions, as coordinates along the tangent rows, those beyond the last row
    /// without meaning; groups share them.
    pub directions: Vec<[f64; 3]>,
}

/// A contact, or friction without a normal row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrictionGroup {
    /// Row of the normal rate $u_n$; none for friction without one.
    pub normal: Option<usize>,
    /// First of the tangent rows $u_t$; the others, where there are some, follow.
    pub tangent: usize,
    /// Number of tangent rows: 0 (no friction), 1, 2, or 3 with the torsion about the normal
    /// (\[TTP01\]).
    pub tangent_count: usize,
    /// Its friction directions in [`ContactLcpData::directions`]; empty without tangent rows.
    pub directions: Range<usize>,
    /// Friction coefficient $\mu$.
    pub mu: f64,
    /// Constant part $a$ of the friction bound.
    pub bound: f64,
}

/// The LCP of contacts with polygonal friction. One that exists is well formed.
///
/// Its unknowns stand group by group: the weights $\beta$, the normal impulse $c_n$, the slip
/// $\lambda$. The scale is the same for all impulses of a group, $1/\sqrt{\bar W}$ with the mean
/// diagonal of its rows, and the inverse of it for $\lambda$. A row of torsion counts as its
/// directions use it, because its unit is another.
#[derive(Clone, Debug, Default)]
pub struct ContactLcp {
    data: ContactLcpData,
    /// $W$ with its columns filled up by zeros, so that products run in whole groups of lanes.
    padded_delassus: Vec<f64>,
    /// Kind, group and rows of each unknown.
    unknowns: Vec<Unknown>,
    /// Scaled factors of each unknown on its first, second and third row; zero for $\lambda$.
    first_factor: Vec<f64>,
    second_factor: Vec<f64>,
    third_factor: Vec<f64>,
    /// Whether some group has a third tangent row.
    has_torsion: bool,
    /// First unknown of each group, and the end.
    starts: Vec<usize>,
    /// Scale of the impulses of each group.
    group_scales: Vec<f64>,
    /// Common scale of offset and unknowns.
    offset_scale: f64,
    /// The scaled offset.
    offset: Vec<f64>,
}

/// What an unknown is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownKind {
    /// Weight $\beta$ of a friction direction.
    Weight,
    /// Normal impulse $c_n$.
    Normal,
    /// Slip $\lambda$.
    Slip,
}

#[derive(Clone, Copy, Debug)]
struct Unknown {
    kind: UnknownKind,
    group: usize,
    rows: [usize; 3],
}

impl ContactLcpData {
    /// Removes everything and keeps the memory.
    pub fn clear(&mut self) {
        self.delassus.clear();
        self.free_rates.clear();
        self.groups.clear();
        self.directions.clear();
    }
}

impl ContactLcp {
    /// States the problem in the memory of this one, whose own statement is lost; see
    /// [`take_data`](Self::take_data).
    ///
    /// # Errors
    /// [`ProblemError`] when a size does not match, a row or direction does not exist, or a number
    /// is not usable.
    pub fn state(&mut self, data: ContactLcpData) -> Result<(), ProblemError> {
        self.data = data;
        self.check()?;
        self.list_unknowns();
        self.scale();
        let rows = self.data.free_rates.len();
        let stride = padded(rows);
        self.padded_delassus.clear();
        self.padded_delassus.resize(rows * stride, 0.0);
        if rows > 0 {
            let columns = self.padded_delassus.chunks_exact_mut(stride).zip(self.data.delassus.chunks_exact(rows));
            columns.for_each(|(padded, column)| padded[..rows].copy_from_slice(column));
        }
        Ok(())
    }

    /// The problem with these data.
    ///
    /// # Errors
    /// [`ProblemError`] when a size does not match, a row or direction does not exist, or a number
    /// is not usable.
    pub fn new(data: ContactLcpData) -> Result<Self, ProblemError> {
        let mut problem = Self::default();
        problem.state(data)?;
        Ok(problem)
    }

    /// The data, to be filled anew and stated again; an empty problem is left.
    pub fn take_data(&mut self) -> ContactLcpData {
        self.unknowns.clear();
        self.starts.clear();
        std::mem::take(&mut self.data)
    }

    /// What the problem is made of.
    pub fn data(&self) -> &ContactLcpData {
        &self.data
    }

    /// The unknowns of a group.
    pub fn unknowns_of(&self, group: usize) -> Range<usize> {
        self.starts[group]..self.starts[group + 1]
    }

    /// What an unknown is.
    pub fn kind(&self, unknown: usize) -> UnknownKind {
        self.unknowns[unknown].kind
    }

    /// The unknowns in the order of \[ST96\] (29): all $\beta$, then all $c_n$, then all $\lambda$.
    pub fn order_of_the_paper(&self) -> Vec<usize> {
        let of = |kind| (0..self.unknowns.len()).filter(move |&i| self.unknowns[i].kind == kind);
        of(UnknownKind::Weight).chain(of(UnknownKind::Normal)).chain(of(UnknownKind::Slip)).collect()
    }

    /// Impulses by row, $c_n$ and $c_t = \sum d_i \beta_i$, of the unknowns `z`.
    pub fn impulses(&self, z: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (group, own) in self.data.groups.iter().enumerate() {
            let unknowns = self.unknowns_of(group);
            for (value, direction) in z[unknowns.clone()].iter().zip(&self.data.directions[own.directions.clone()]) {
                for (out, along) in out[own.tangent..own.tangent + own.tangent_count].iter_mut().zip(direction) {
                    *out += along * value;
                }
            }
            if let Some(normal) = own.normal {
                out[normal] += z[unknowns.start + own.directions.len()];
            }
        }
    }

    fn check(&self) -> Result<(), ProblemError> {
        let ContactLcpData { delassus, free_rates, groups, directions } = &self.data;
        let rows = free_rates.len();
        if delassus.len() != rows * rows {
            return Err(ProblemError::Size {
                what: "the Delassus matrix",
                found: format!("{} entries", delassus.len()),
                expected: format!("{rows} x {rows}"),
            });
        }
        if let Some(place) = first_not_finite(delassus) {
            let (row, column) = (place % rows, place / rows);
            return Err(ProblemError::NotFinite { what: "the Delassus matrix", row, column, value: delassus[place] });
        }
        check_finite_vector("the free rates", free_rates)?;
        for (number, group) in groups.iter().enumerate() {
            let refuse = |reason: &str| Err(ProblemError::Group { number, reason: reason.to_owned() });
            if group.normal.is_some_and(|row| row >= rows)
                || group.tangent + group.tangent_count > rows.max(group.tangent)
            {
                return refuse("refers to a row that does not exist");
            }
            if group.tangent_count > 3 || (group.tangent_count == 0) != group.directions.is_empty() {
                return refuse("needs friction directions for its one to three tangent rows, and none without");
            }
            if directions.get(group.directions.clone()).is_none() {
                return refuse("refers to friction directions that do not exist");
            }
            if !(group.mu >= 0.0 && group.mu.is_finite() && group.bound >= 0.0 && group.bound.is_finite()) {
                return refuse("has a friction bound that is negative or not finite");
            }
        }
        match directions.iter().position(|d| d.iter().any(|d| !d.is_finite())) {
            Some(row) => {
                let value = directions[row].into_iter().find(|value| !value.is_finite()).unwrap_or_default();
                Err(ProblemError::NotFinite { what: "the friction directions", row, column: 0, value })
            }
            None => Ok(()),
        }
    }

    fn list_unknowns(&mut self) {
        self.unknowns.clear();
        self.starts.clear();
        self.starts.push(0);
        for (group, own) in self.data.groups.iter().enumerate() {
            let last = own.tangent_count.saturating_sub(1);
            let tangents = [own.tangent, own.tangent + last.min(1), own.tangent + last];
            let weight = Unknown { kind: UnknownKind::Weight, group, rows: tangents };
            self.unknowns.extend(own.directions.clone().map(|_| weight));
            if let Some(row) = own.normal {
                self.unknowns.push(Unknown { kind: UnknownKind::Normal, group, rows: [row; 3] });
            }
            if own.tangent_count > 0 {
                self.unknowns.push(Unknown { kind: UnknownKind::Slip, group, rows: [own.tangent; 3] });
            }
            self.starts.push(self.unknowns.len());
        }
    }

    fn scale(&mut self) {
        let rows = self.data.free_rates.len();
        self.group_scales.clear();
        self.first_factor.clear();
        self.second_factor.clear();
        self.third_factor.clear();
        self.has_torsion = self.data.groups.iter().any(|group| group.tangent_count == 3);
        self.offset_scale = 1.0;
        let mut most_negative = 0.0f64;
        for own in &self.data.groups {
            let own_rows = own.normal.into_iter().chain(own.tangent..own.tangent + own.tangent_count.min(2));
            let own_directions = &self.data.directions[own.directions.clone()];
            let (mut sum, mut count) = (0.0, 0.0);
            for row in own_rows {
                sum += self.data.delassus[row * rows + row].abs();
                count += 1.0;
            }
            if own.tangent_count == 3 {
                let (row, reach) = (own.tangent + 2, own_directions.iter().fold(0.0f64, |r, d| r.max(d[2].abs())));
                sum += reach * reach * self.data.delassus[row * rows + row].abs();
                count += 1.0;
            }
            let scale = if sum > 0.0 { nearest_power_of_two((count / sum).sqrt()) } else { 1.0 };
            self.group_scales.push(scale);
            let mut push = |[first, second, third]: [f64; 3]| {
                self.first_factor.push(first);
                self.second_factor.push(second);
                self.third_factor.push(third);
            };
            for direction in own_directions {
                push(std::array::from_fn(|k| if k < own.tangent_count { direction[k] * scale } else { 0.0 }));
            }
            if own.normal.is_some() {
                push([scale, 0.0, 0.0]);
            }
            if own.tangent_count > 0 {
                push([0.0; 3]);
            }
        }
        self.offset.clear();
        for (i, &Unknown { kind, group, rows: [first, second, third] }) in self.unknowns.iter().enumerate() {
            let rates = &self.data.free_rates;
            self.offset.push(match kind {
                UnknownKind::Slip => self.data.groups[group].bound / self.group_scales[group],
                _ => {
                    self.first_factor[i] * rates[first]
                        + self.second_factor[i] * rates[second]
                        + self.third_factor[i] * rates[third]
                }
            });
            most_negative = most_negative.max(-self.offset[i]);
        }
        if most_negative > 0.0 {
            self.offset_scale = nearest_power_of_two(most_negative);
            self.offset.iter_mut().for_each(|offset| *offset /= self.offset_scale);
        }
    }
}

impl LemkeProblem for ContactLcp {
    #[inline(always)]
    fn unknown_count(&self) -> usize {
        self.unknowns.len()
    }

    #[inline(always)]
    fn scaled_offset(&self, i: usize) -> f64 {
        self.offset[i]
    }

    #[inline(always)]
    fn scaled_entry(&self, i: usize, j: usize) -> f64 {
        let (row, column) = (&self.unknowns[i], &self.unknowns[j]);
        match (row.kind, column.kind) {
            (UnknownKind::Weight, UnknownKind::Slip) => f64::from(row.group == column.group),
            (UnknownKind::Slip, UnknownKind::Weight) => -f64::from(row.group == column.group),
            (UnknownKind::Slip, UnknownKind::Normal) if row.group == column.group => self.data.groups[row.group].mu,
            (UnknownKind::Slip, _) | (_, UnknownKind::Slip) => 0.0,
            _ => {
                let stride = self.data.free_rates.len();
                let along = |c: usize| {
                    let rates = &self.data.delassus[c * stride..(c + 1) * stride];
                    let plane = self.first_factor[i] * rates[row.rows[0]] + self.second_factor[i] * rates[row.rows[1]];
                    if self.has_torsion { plane + self.third_factor[i] * rates[row.rows[2]] } else { plane }
                };
                let plane =
                    self.first_factor[j] * along(column.rows[0]) + self.second_factor[j] * along(column.rows[1]);
                if self.has_torsion { plane + self.third_factor[j] * along(column.rows[2]) } else { plane }
            }
        }
    }

    #[inline(always)]
    fn scaled_product(
        &self,
        columns: &[usize],
        weights: &[f64],
        extra: Option<usize>,
        workspace: &mut Vec<f64>,
        out: &mut [f64],
    ) {
        let (stride, groups) = (padded(self.data.free_rates.len()), self.data.groups.len());
        workspace.clear();
        workspace.resize(2 * (stride + groups), 0.0);
        let (impulses, rest) = workspace.split_at_mut(stride);
        let (rates, rest) = rest.split_at_mut(stride);
        let (slips, bounds) = rest.split_at_mut(groups);
        let extra = extra.map(|column| (column, 1.0));
        for (j, weight) in columns.iter().copied().zip(weights.iter().copied()).chain(extra) {
            let Some(&Unknown { kind, group, rows: [first, second, third] }) = self.unknowns.get(j) else { continue };
            match kind {
                UnknownKind::Slip => slips[group] = weight,
                UnknownKind::Normal => {
                    impulses[first] += self.first_factor[j] * weight;
                    bounds[group] += self.data.groups[group].mu * weight;
                }
                UnknownKind::Weight => {
                    impulses[first] += self.first_factor[j] * weight;
                    impulses[second] += self.second_factor[j] * weight;
                    impulses[third] += self.third_factor[j] * weight;
                    bounds[group] -= weight;
                }
            }
        }
        // Two columns at a time: half the passes through the rates.
        let mut pending: Option<(f64, &[f64])> = None;
        for (&impulse, column) in impulses.iter().zip(self.padded_delassus.chunks_exact(stride.max(1))) {
            if impulse == 0.0 {
                continue;
            }
            match pending.take() {
                None => pending = Some((impulse, column)),
                Some((other, other_column)) => {
                    for ((rate, a), b) in rates.iter_mut().zip(other_column).zip(column) {
                        *rate += other * a + impulse * b;
                    }
                }
            }
        }
        if let Some((impulse, column)) = pending {
            add_multiple(rates, impulse, column);
        }
        for (group, own) in self.data.groups.iter().enumerate() {
            let (start, mut next) = (self.starts[group], self.starts[group] + own.directions.len());
            if own.tangent_count > 0 {
                let (first, second) = (rates[own.tangent], rates[own.tangent + (own.tangent_count - 1).min(1)]);
                let factors = self.first_factor[start..next].iter().zip(&self.second_factor[start..next]);
                for (out, (along, across)) in out[start..next].iter_mut().zip(factors) {
                    *out = along * first + across * second + slips[group];
                }
                if own.tangent_count == 3 {
                    let third = rates[own.tangent + 2];
                    let factors = &self.third_factor[start..next];
                    out[start..next].iter_mut().zip(factors).for_each(|(out, about)| *out += about * third);
                }
            }
            if let Some(row) = own.normal {
                out[next] = self.first_factor[next] * rates[row];
                next += 1;
            }
            if own.tangent_count > 0 {
                out[next] = bounds[group];
            }
        }
    }

    fn unknown_scale(&self, i: usize) -> f64 {
        let Unknown { kind, group, .. } = self.unknowns[i];
        let scale = self.group_scales[group];
        if kind == UnknownKind::Slip { self.offset_scale / scale } else { self.offset_scale * scale }
    }

    fn slack_scale(&self, i: usize) -> f64 {
        let Unknown { kind, group, .. } = self.unknowns[i];
        let scale = self.group_scales[group];
        if kind == UnknownKind::Slip { 1.0 / (scale * self.offset_scale) } else { scale / self.offset_scale }
    }

    fn judge(&self, z: &[f64], w: &mut Vec<f64>) -> f64 {
        contact_lcp_residual(self, z, w)
    }

    fn to_lcp(&self) -> Result<Lcp, ProblemError> {
        let n = self.unknown_count();
        // Scales are powers of two: taking them out again is exact.
        let unscale = |i: usize| 1.0 / (self.slack_scale(i) * self.offset_scale);
        let matrix = Mat::from_fn(n, n, |i, j| {
            self.scaled_entry(i, j) * unscale(i) / (self.unknown_scale(j) / self.offset_scale)
        });
        let offset = (0..n).map(|i| self.scaled_offset(i) / self.slack_scale(i)).collect();
        Lcp::new(matrix, offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A contact in space, a frictionless one, one in the plane with a constant bound, friction
    /// without a normal row, and one with torsion: eleven rows whose Delassus matrix is neither
    /// symmetric nor of one size, so that mistaken places show.
    fn mixed() -> ContactLcpData {
        let group = |normal, tangent, tangent_count, directions, mu, bound| FrictionGroup {
            normal,
            tangent,
            tangent_count,
            directions,
            mu,
            bound,
        };
        let sizes = [1.0, 3.0, 0.5, 1e-4, 2.0, 50.0, 7.0, 1.0, 2.0, 1.5, 40.0];
        let delassus = (0..121).map(|k| {
            let (i, j) = (k % 11, k / 11);
            sizes[i] * sizes[j] * if i == j { 2.0 } else { ((3 * i + 5 * j) % 11) as f64 / 11.0 - 0.5 }
        });
        ContactLcpData {
            delassus: delassus.collect(),
            free_rates: vec![-1.0, 0.3, -0.2, -0.5, 0.4, 2.0, -3.0, -0.7, 0.6, -0.1, 3.0],
            groups: vec![
                group(Some(0), 1, 2, 2..6, 0.3, 0.0),
                group(Some(3), 4, 0, 0..0, 0.0, 0.0),
                group(Some(4), 5, 1, 0..2, 0.7, 0.25),
                group(None, 6, 1, 0..2, 0.0, 0.125),
                group(Some(7), 8, 3, 2..9, 0.4, 0.0),
            ],
            directions: vec![
                [1.0, 0.0, 0.0],
                [-1.0, 0.0, 0.0],
                [1.0, 0.0, 0.0],
                [0.0, 1.0, 0.0],
                [-1.0, 0.0, 0.0],
                [0.0, -1.0, 0.0],
                [0.5, 0.25, 0.03],
                [0.0, 0.0, -0.05],
                [0.0, -0.5, 0.02],
            ],
        }
    }

    #[test]
    fn unknowns_stand_group_by_group_and_in_the_order_of_the_paper() {
        let problem = ContactLcp::new(mixed()).unwrap();
        assert_eq!(problem.unknown_count(), 6 + 1 + 4 + 3 + 9);
        assert_eq!(problem.unknowns_of(2), 7..11);
        let kinds: Vec<UnknownKind> = problem.order_of_the_paper().into_iter().map(|i| problem.kind(i)).collect();
        let expected = [(UnknownKind::Weight, 15), (UnknownKind::Normal, 4), (UnknownKind::Slip, 4)];
        let expected: Vec<UnknownKind> =
            expected.into_iter().flat_map(|(kind, count)| std::iter::repeat_n(kind, count)).collect();
        assert_eq!(kinds, expected);
    }

    #[test]
    fn entries_are_those_of_the_law() {
        // The rows of one contact in the plane by hand: β₊, β₋, c_n, λ.
        let data = ContactLcpData {
            delassus: vec![1.0, 0.25, 0.25, 1.0],
            free_rates: vec![-1.0, 0.5],
            groups: vec![FrictionGroup {
                normal: Some(0),
                tangent: 1,
                tangent_count: 1,
                directions: 0..2,
                mu: 0.3,
                bound: 0.125,
            }],
            directions: vec![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]],
        };
        let lcp = ContactLcp::new(data).unwrap().to_lcp().unwrap();
        let expected =
            [[1.0, -1.0, 0.25, 1.0], [-1.0, 1.0, -0.25, 1.0], [0.25, -0.25, 1.0, 0.0], [-1.0, -1.0, 0.3, 0.0]];
        for i in 0..4 {
            for j in 0..4 {
                assert_eq!(lcp.matrix()[(i, j)], expected[i][j], "({i}, {j})");
            }
        }
        assert_eq!(lcp.offset(), [0.5, -0.5, -1.0, 0.125]);
    }

    #[test]
    fn products_entries_and_judge_speak_of_one_problem() {
        let problem = ContactLcp::new(mixed()).unwrap();
        let n = problem.unknown_count();
        let lcp = problem.to_lcp().unwrap();
        let scaled: Vec<f64> = (0..n).map(|i| ((i * 5) % 7) as f64 / 3.0).collect();
        let (columns, mut out, mut workspace) = ((0..n).collect::<Vec<_>>(), vec![f64::NAN; n], Vec::new());
        problem.scaled_product(&columns, &scaled, Some(4), &mut workspace, &mut out);
        for i in 0..n {
            let expected: f64 = (0..n).map(|j| problem.scaled_entry(i, j) * (scaled[j] + f64::from(j == 4))).sum();
            let size: f64 = (0..n).map(|j| (problem.scaled_entry(i, j) * scaled[j]).abs()).sum();
            assert!((out[i] - expected).abs() <= 1e-14 * size.max(1.0), "row {i}: {} and not {expected}", out[i]);
        }
        // The judge in the problem's own units, against the written-out problem.
        let z: Vec<f64> = (0..n).map(|i| scaled[i] * problem.unknown_scale(i)).collect();
        let (mut w, mut reference) = (Vec::new(), Vec::new());
        let residual = problem.judge(&z, &mut w);
        crate::residual::lcp_residual(&lcp, &z, &mut reference);
        let mut worst = 0.0f64;
        for i in 0..n {
            assert!((w[i] - reference[i]).abs() <= 1e-13 * reference[i].abs().max(1.0), "slack {i}");
            worst = worst.max((z[i] / problem.unknown_scale(i)).min(w[i] * problem.slack_scale(i)).abs());
        }
        assert_eq!(residual, worst);
    }

    #[test]
    fn scaling_brings_the_diagonal_near_one_whatever_the_units() {
        for unit in [1.0, 1e-9, 1e9] {
            let mut data = mixed();
            data.delassus.iter_mut().for_each(|entry| *entry *= unit);
            let problem = ContactLcp::new(data).unwrap();
            for i in (0..problem.unknown_count()).filter(|&i| problem.kind(i) == UnknownKind::Normal) {
                let diagonal = problem.scaled_entry(i, i);
                assert!((0.001..5.0).contains(&diagonal), "unknown {i}, unit {unit}: {diagonal}");
            }
            let most_negative =
                (0..problem.unknown_count()).fold(0.0f64, |worst, i| worst.min(problem.scaled_offset(i)));
            assert!((-2.0..=-0.5).contains(&most_negative), "{most_negative}");
        }
    }

    #[test]
    fn malformed_data_are_refused_with_a_reason() {
        let refused = |change: &dyn Fn(&mut ContactLcpData)| {
            let mut data = mixed();
            change(&mut data);
            ContactLcp::new(data).unwrap_err().to_string()
        };
        for (message, part) in [
            (refused(&|d| d.delassus.truncate(120)), "the Delassus matrix has size 120 entries, but 11 x 11 is needed"),
            (refused(&|d| d.delassus[12] = f64::NAN), "the Delassus matrix: entry (1, 1) is NaN"),
            (refused(&|d| d.free_rates[2] = f64::INFINITY), "the free rates: entry (2, 0) is inf"),
            (refused(&|d| d.groups[1].normal = Some(11)), "element 1 refers to a row that does not exist"),
            (refused(&|d| d.groups[0].tangent = 10), "element 0 refers to a row that does not exist"),
            (refused(&|d| d.groups[0].directions = 0..0), "element 0 needs friction directions"),
            (refused(&|d| d.groups[0].directions = 4..10), "element 0 refers to friction directions that do not exist"),
            (refused(&|d| d.groups[2].mu = -0.1), "element 2 has a friction bound that is negative"),
            (refused(&|d| d.directions[3] = [0.0, f64::NAN, 0.0]), "the friction directions: entry (3, 0) is NaN"),
        ] {
            assert!(message.contains(part), "{message}");
        }
    }
}
