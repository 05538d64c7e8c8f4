//! The unknowns of one island, and what all methods share: scales, residual, the best point so far.

use super::active_set::Mode;
use super::alart_curnier;
use super::law::LawKind;
use super::one_contact::OneContact;
use super::space::{Small, Space};
use crate::Work;

/// Unknowns and memory of the methods on one island.
#[derive(Clone, Debug, Default)]
pub(crate) struct Island<const D: usize> {
    /// The point: impulses and their rates.
    pub r: Vec<[f64; D]>,
    pub u: Vec<[f64; D]>,
    /// Scale $\rho_i$ of each contact, an inverse of $W_{ii}$.
    pub rho: Vec<f64>,
    /// The solver of each contact alone, and where its search starts.
    pub contacts: Vec<OneContact<D>>,
    pub alphas: Vec<f64>,
    /// The best point so far, and its residual.
    pub best: Vec<[f64; D]>,
    pub best_residual: f64,
    /// Newton's method.
    pub f: Vec<[f64; D]>,
    pub a: Vec<Small<D>>,
    pub b: Vec<Small<D>>,
    pub dr: Vec<[f64; D]>,
    pub trial: Vec<[f64; D]>,
    pub trial_u: Vec<[f64; D]>,
    /// The scales of a run of Newton's method.
    pub run_rho: Vec<f64>,
    /// The point near a path to come back to.
    pub centre: Vec<[f64; D]>,
    /// The path of smoothed equations: derivative of $F$ and of $r$ by the logarithm of the width,
    /// and its direction.
    pub f_width: Vec<[f64; D]>,
    pub tangent: Vec<[f64; D]>,
    pub direction: Vec<[f64; D]>,
    /// Interior points.
    pub slack: Vec<[f64; D]>,
    pub slack_step: Vec<[f64; D]>,
    /// Modes of the active set, and the residual of the last point from which it was of no use.
    pub modes: Vec<Mode>,
    pub tried_modes: f64,
    /// What the methods may still spend.
    pub work: Work,
}

impl<const D: usize> Island<D> {
    /// Goes along `dr`, halved until the merit of the trial point is below `largest`. Returns the
    /// length and the merit; none, and stays, when no length will do.
    pub fn shorten<S: Space<D>>(
        &mut self,
        space: &mut S,
        largest: f64,
        halvings: usize,
        merit_of: impl Fn(&S, &Self) -> f64,
    ) -> Option<(f64, f64)> {
        let mut length = 1.0;
        for _ in 0..halvings {
            for ((trial, r), dr) in self.trial.iter_mut().zip(&self.r).zip(&self.dr) {
                (0..D).for_each(|k| trial[k] = r[k] + length * dr[k]);
            }
            space.rates(&self.trial, &mut self.trial_u);
            let merit = merit_of(space, self);
            if merit <= (1.0 - 1e-4 * length) * largest {
                std::mem::swap(&mut self.r, &mut self.trial);
                std::mem::swap(&mut self.u, &mut self.trial_u);
                return Some((length, merit));
            }
            length *= 0.5;
        }
        None
    }

    /// Prepares for a space; `r` must hold the start.
    pub fn prepare(&mut self, space: &mut impl Space<D>) {
        let count = space.laws().len();
        debug_assert_eq!(self.r.len(), count);
        self.rho.clear();
        self.contacts.clear();
        for (law, w) in space.laws().iter().zip(space.diagonal()) {
            let trace: f64 = (0..D).map(|k| w[k][k].abs()).sum();
            self.rho.push(if trace > 0.0 { D as f64 / trace } else { 1.0 });
            self.contacts.push(OneContact::new(*law, w));
        }
        self.alphas.clear();
        self.alphas.resize(count, 0.0);
        self.u.clear();
        self.u.resize(count, [0.0; D]);
        self.best.clear();
        self.best.extend_from_slice(&self.r);
        self.best_residual = f64::INFINITY;
        self.tried_modes = f64::INFINITY;
    }

    /// Makes room for the methods after Gauss-Seidel's: most small islands do without them.
    pub fn make_room(&mut self) {
        for vector in [
            &mut self.f,
            &mut self.dr,
            &mut self.trial,
            &mut self.trial_u,
            &mut self.f_width,
            &mut self.tangent,
            &mut self.direction,
        ] {
            vector.clear();
            vector.resize(self.r.len(), [0.0; D]);
        }
    }

    /// Computes the rates of the point, its residual, and keeps it if it is the best.
    pub fn measure(&mut self, space: &mut impl Space<D>) -> f64 {
        space.rates(&self.r, &mut self.u);
        let residual = residual_of(space, &self.r, &self.u, &self.rho);
        self.keep(residual);
        residual
    }

    /// The scale of the rates: the root mean square of those without impulses, which are left in
    /// `trial_u`.
    pub fn free_speed(&mut self, space: &mut impl Space<D>) -> f64 {
        self.trial.fill([0.0; D]);
        space.rates(&self.trial, &mut self.trial_u);
        let square = self.trial_u.as_flattened().iter().map(|u| u * u).sum::<f64>();
        square.sqrt() / (self.trial.len() as f64).sqrt()
    }

    /// The matrix $W$, column after column, from the rates of unit impulses; the rates without
    /// impulses are left in `centre`.
    pub fn write_out(&mut self, space: &mut impl Space<D>) -> Vec<f64> {
        let rows = self.r.len() * D;
        let mut w = Vec::with_capacity(rows * rows);
        self.free_speed(space);
        self.centre.clone_from(&self.trial_u);
        for column in 0..rows {
            self.trial[column / D][column % D] = 1.0;
            space.rates(&self.trial, &mut self.trial_u);
            let rates = self.trial_u.as_flattened().iter().zip(self.centre.as_flattened());
            w.extend(rates.map(|(rate, free)| rate - free));
            self.trial[column / D][column % D] = 0.0;
        }
        self.work.spend(rows as u64 * space.sweep_work());
        w
    }

    /// Keeps the point if it is the best so far.
    pub fn keep(&mut self, residual: f64) {
        if residual < self.best_residual {
            self.best_residual = residual;
            self.best.copy_from_slice(&self.r);
        }
    }

    /// Goes back to the best point.
    pub fn restore(&mut self, space: &mut impl Space<D>) {
        self.r.copy_from_slice(&self.best);
        space.rates(&self.r, &mut self.u);
    }

    /// Puts every impulse into its cone.
    pub fn project(&mut self, space: &impl Space<D>) {
        for (r, law) in self.r.iter_mut().zip(space.laws()) {
            match law.kind {
                LawKind::Joint => {}
                _ if law.bound == 0.0 && !law.splits => *r = super::law::project(r, law.mu),
                _ => {
                    r[0] = r[0].max(0.0);
                    *r = law.project_tangents(r, law.mu * r[0] + law.bound);
                }
            }
        }
    }
}

/// The Euclidean norm of $F_i / \rho_i$ over all contacts, a velocity.
pub(crate) fn residual_of<const D: usize>(space: &impl Space<D>, r: &[[f64; D]], u: &[[f64; D]], rho: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, law) in space.laws().iter().enumerate() {
        let f = alart_curnier::value(law, &r[i], &u[i], rho[i]);
        let square: f64 = f.iter().map(|f| f * f).sum();
        sum += square / (rho[i] * rho[i]);
    }
    if sum.is_finite() { sum.sqrt() } else { f64::INFINITY }
}
