//! A problem in the space of the bodies: $M v = f + H^T r$, $u = H v + w$.
//!
//! Velocities stand in blocks of $B$ coordinates, a body each, and a contact has a few blocks of
//! $H$. Nothing here grows faster than the number of contacts, but the factors of Newton's matrix
//!
//! $$ \Big( M + \sum_i H_i^T B_i^{-1} A_i H_i \Big) dv = -\sum_i H_i^T B_i^{-1} F_i, \qquad dr_i = -B_i^{-1} (F_i + A_i H_i\,dv), $$
//!
//! whose pattern is the graph of the bodies. Joints are rows like others, with a law of their own:
//! a chain of bodies keeps the pattern of a chain.

use super::block_lu::{Block, BlockLu, Padded, Place};
use super::law::Law;
use super::one_contact::{OneContact, determinant_sign, inverse};
use super::space::{Small, Space, complete_diagonal};

/// Bodies of B coordinates, contacts with D rows, and joints of one island; blocks are factored
/// with rows of length P, see [`Padded`].
#[derive(Clone, Debug, Default)]
pub(crate) struct BodySpace<const D: usize, const B: usize, const P: usize> {
    laws: Vec<Law>,
    bias: Vec<[f64; D]>,
    /// Blocks of H: where those of each contact begin, their bodies, their rows.
    starts: Vec<usize>,
    bodies: Vec<u32>,
    rows: Vec<[[f64; B]; D]>,
    /// $M^{-1} H^T$, by row of H; empty when M couples bodies.
    moves: Vec<[[f64; B]; D]>,
    diagonal: Vec<Small<D>>,
    /// The blocks of M on its diagonal and their inverses, and those beside it.
    mass: Vec<Block<B>>,
    inverse_mass: Vec<Block<B>>,
    couplings: Vec<(u32, u32, Block<B>)>,
    mass_lu: BlockLu<B, P>,
    force: Vec<[f64; B]>,
    free_velocity: Vec<[f64; B]>,
    velocity: Vec<[f64; B]>,
    /// For Newton's method.
    pattern: Vec<(u32, u32)>,
    lu: BlockLu<B, P>,
    places: Vec<Place>,
    coupling_places: Vec<Place>,
    is_analysed: bool,
    /// $B^{-1} A$ and $B^{-1}$ of each contact.
    eliminated: Vec<(Small<D>, Small<D>)>,
    /// A column of $M^{-1} H^T$, and the blocks of an explicit matrix.
    column: Vec<[f64; B]>,
    condensed: Vec<Small<D>>,
}

impl<const D: usize, const B: usize, const P: usize> BodySpace<D, B, P> {
    /// Starts anew with this number of bodies, all of no mass, and keeps the memory.
    pub fn clear(&mut self, body_count: usize) {
        self.laws.clear();
        self.bias.clear();
        self.starts.clear();
        self.starts.push(0);
        self.bodies.clear();
        self.rows.clear();
        self.mass.clear();
        self.mass.resize(body_count, [[0.0; B]; B]);
        self.force.clear();
        self.force.resize(body_count, [0.0; B]);
        self.couplings.clear();
        self.is_analysed = false;
    }

    /// The block of M of a body, to add to.
    pub fn mass_mut(&mut self, body: usize) -> &mut Block<B> {
        &mut self.mass[body]
    }

    /// Adds an entry of M beside the blocks of its diagonal.
    pub fn push_coupling(&mut self, (row, i): (usize, usize), (column, j): (usize, usize), value: f64) {
        let key = (row as u32, column as u32);
        match self.couplings.iter_mut().rev().take(B).find(|coupling| (coupling.0, coupling.1) == key) {
            Some(coupling) => coupling.2[i][j] += value,
            None => {
                let mut block = [[0.0; B]; B];
                block[i][j] = value;
                self.couplings.push((key.0, key.1, block));
            }
        }
    }

    /// The force of a body, to be written.
    pub fn force_mut(&mut self, body: usize) -> &mut [f64; B] {
        &mut self.force[body]
    }

    /// Adds a contact; its entries follow, and then [`end_contact`](Self::end_contact).
    pub fn push_contact(&mut self, law: Law, bias: [f64; D]) {
        self.laws.push(law);
        self.bias.push(bias);
    }

    /// Adds an entry of H to the current contact.
    pub fn push_entry(&mut self, row: usize, body: usize, coordinate: usize, value: f64) {
        let start = *self.starts.last().expect("never empty");
        let block = match self.bodies[start..].iter().position(|&other| other as usize == body) {
            Some(k) => start + k,
            None => {
                self.bodies.push(body as u32);
                self.rows.push([[0.0; B]; D]);
                self.rows.len() - 1
            }
        };
        self.rows[block][row][coordinate] += value;
    }

    /// Ends the entries of the current contact.
    pub fn end_contact(&mut self) {
        self.starts.push(self.bodies.len());
    }

    /// Computes all that follows from the entries; whether M is regular.
    pub fn finish(&mut self) -> bool {
        self.inverse_mass.clear();
        self.moves.clear();
        self.diagonal.clear();
        self.free_velocity.clear();
        if !self.couplings.is_empty() {
            return self.finish_coupled();
        }
        for mass in &self.mass {
            let Some(inverse) = inverse(mass) else { return false };
            self.inverse_mass.push(inverse);
        }
        for (inverse, force) in self.inverse_mass.iter().zip(&self.force) {
            self.free_velocity.push(apply(inverse, force));
        }
        for i in 0..self.laws.len() {
            let mut w = [[0.0; D]; D];
            for block in self.starts[i]..self.starts[i + 1] {
                let (h, inverse) = (&self.rows[block], &self.inverse_mass[self.bodies[block] as usize]);
                let y = std::array::from_fn(|k| apply(inverse, &h[k]));
                for k in 0..D {
                    for l in 0..D {
                        w[k][l] += dot(&h[k], &y[l]);
                    }
                }
                self.moves.push(y);
            }
            complete_diagonal(&mut w, &[false; D]);
            self.diagonal.push(w);
        }
        true
    }

    /// The same where M couples bodies: $M^{-1} H^T$ is then full, and only its part in $W_{ii}$ is
    /// kept.
    fn finish_coupled(&mut self) -> bool {
        self.pattern.clear();
        self.pattern.extend(self.couplings.iter().map(|&(i, j, _)| (i, j)));
        self.mass_lu.analyse(self.mass.len(), &self.pattern);
        self.mass_lu.clear();
        for (body, mass) in self.mass.iter().enumerate() {
            let place = self.mass_lu.place(body, body);
            add(self.mass_lu.block_mut(place), mass);
        }
        for (i, j, block) in &self.couplings {
            let place = self.mass_lu.place(*i as usize, *j as usize);
            add(self.mass_lu.block_mut(place), block);
        }
        if !self.mass_lu.factor() {
            return false;
        }
        self.free_velocity.extend_from_slice(&self.force);
        self.mass_lu.solve(&mut self.free_velocity);
        for i in 0..self.laws.len() {
            let mut w = [[0.0; D]; D];
            for l in 0..D {
                self.respond(i, l);
                for k in 0..D {
                    for block in self.starts[i]..self.starts[i + 1] {
                        w[k][l] += dot(&self.rows[block][k], &self.column[self.bodies[block] as usize]);
                    }
                }
            }
            complete_diagonal(&mut w, &[false; D]);
            self.diagonal.push(w);
        }
        true
    }

    /// Writes $M^{-1} H^T$ of one row of a contact into `column`.
    fn respond(&mut self, i: usize, row: usize) {
        self.column.clear();
        self.column.resize(self.mass.len(), [0.0; B]);
        for block in self.starts[i]..self.starts[i + 1] {
            self.column[self.bodies[block] as usize] = self.rows[block][row];
        }
        if self.couplings.is_empty() {
            for block in self.starts[i]..self.starts[i + 1] {
                let body = self.bodies[block] as usize;
                self.column[body] = apply(&self.inverse_mass[body], &self.column[body]);
            }
        } else {
            self.mass_lu.solve(&mut self.column);
        }
    }

    /// Writes the same problem with an explicit matrix, $W = H M^{-1} H^T$.
    pub fn condense(&mut self, space: &mut super::contact_space::ContactSpace<D>) {
        let count = self.laws.len();
        // Column by column; then the blocks are handed over by rows.
        self.condensed.clear();
        self.condensed.resize(count * count, [[0.0; D]; D]);
        for j in 0..count {
            for l in 0..D {
                self.respond(j, l);
                for i in 0..count {
                    for block in self.starts[i]..self.starts[i + 1] {
                        let y = &self.column[self.bodies[block] as usize];
                        for k in 0..D {
                            self.condensed[i * count + j][k][l] += dot(&self.rows[block][k], y);
                        }
                    }
                }
            }
        }
        space.clear();
        for i in 0..count {
            let mut offset = self.bias[i];
            for block in self.starts[i]..self.starts[i + 1] {
                let v = &self.free_velocity[self.bodies[block] as usize];
                (0..D).for_each(|k| offset[k] += dot(&self.rows[block][k], v));
            }
            space.push_contact(self.laws[i], offset);
            *space.diagonal_mut() = self.condensed[i * count + i];
            for j in 0..count {
                let block = &self.condensed[i * count + j];
                if j != i && block.as_flattened().iter().any(|&x| x != 0.0) {
                    space.push_block(j, *block);
                }
            }
            space.end_contact(&[false; D]);
        }
    }

    #[inline(always)]
    fn update_velocity(&mut self, r: &[[f64; D]]) {
        self.velocity.clear();
        if self.couplings.is_empty() {
            self.velocity.extend_from_slice(&self.free_velocity);
            for i in 0..self.laws.len() {
                for block in self.starts[i]..self.starts[i + 1] {
                    add_rows(&mut self.velocity[self.bodies[block] as usize], &self.moves[block], &r[i]);
                }
            }
        } else {
            self.velocity.extend_from_slice(&self.force);
            for i in 0..self.laws.len() {
                for block in self.starts[i]..self.starts[i + 1] {
                    add_rows(&mut self.velocity[self.bodies[block] as usize], &self.rows[block], &r[i]);
                }
            }
            self.mass_lu.solve(&mut self.velocity);
        }
    }

    #[inline(always)]
    fn rate(&self, i: usize) -> [f64; D] {
        let mut u = self.bias[i];
        for block in self.starts[i]..self.starts[i + 1] {
            let (h, v) = (&self.rows[block], &self.velocity[self.bodies[block] as usize]);
            for k in 0..D {
                u[k] += dot(&h[k], v);
            }
        }
        u
    }

    fn analyse(&mut self) {
        self.pattern.clear();
        for i in 0..self.laws.len() {
            let own = &self.bodies[self.starts[i]..self.starts[i + 1]];
            for a in 0..own.len() {
                self.pattern.extend(own[..a].iter().map(|&other| (own[a], other)));
            }
        }
        self.pattern.extend(self.couplings.iter().map(|&(i, j, _)| (i, j)));
        self.lu.analyse(self.mass.len(), &self.pattern);
        self.places.clear();
        for i in 0..self.laws.len() {
            for a in self.starts[i]..self.starts[i + 1] {
                for b in self.starts[i]..self.starts[i + 1] {
                    self.places.push(self.lu.place(self.bodies[a] as usize, self.bodies[b] as usize));
                }
            }
        }
        self.coupling_places.clear();
        let places = self.couplings.iter().map(|&(i, j, _)| self.lu.place(i as usize, j as usize));
        self.coupling_places.extend(places);
        self.is_analysed = true;
    }

    /// A step of Newton's method.
    #[inline(always)]
    fn step_here<S: pulp::Simd>(
        &mut self,
        simd: S,
        a: &[Small<D>],
        b: &[Small<D>],
        f: &[[f64; D]],
        dr: &mut [[f64; D]],
    ) -> bool {
        self.eliminated.clear();
        for i in 0..self.laws.len() {
            let Some(inverse) = small_inverse(&b[i]) else { return false };
            let mut c = [[0.0; D]; D];
            super::block_lu::add_product(&mut c, &inverse, &a[i]);
            self.eliminated.push((c, inverse));
        }
        self.assemble();
        self.lu.factor_here(simd) && self.newton_step_again(f, dr)
    }

    /// Assembles Newton's matrix.
    #[inline(always)]
    fn assemble(&mut self) {
        self.lu.clear();
        for (body, mass) in self.mass.iter().enumerate() {
            let place = self.lu.place(body, body);
            add(self.lu.block_mut(place), mass);
        }
        for ((_, _, block), &place) in self.couplings.iter().zip(&self.coupling_places) {
            add(self.lu.block_mut(place), block);
        }
        let mut next = 0;
        for i in 0..self.laws.len() {
            let own = self.starts[i]..self.starts[i + 1];
            let c = &self.eliminated[i].0;
            if c.as_flattened().iter().all(|&x| x == 0.0) {
                next += own.len() * own.len();
                continue;
            }
            for a in own.clone() {
                // Hₐᵀ C, then times each H_b.
                let h = &self.rows[a];
                let mut left = [[0.0; B]; D];
                for k in 0..D {
                    for l in 0..D {
                        for j in 0..B {
                            left[l][j] += c[k][l] * h[k][j];
                        }
                    }
                }
                for b in own.clone() {
                    let target = self.lu.block_mut(self.places[next]);
                    next += 1;
                    let h = &self.rows[b];
                    for x in 0..B {
                        let mut row = target[x];
                        for l in 0..D {
                            for y in 0..B {
                                row[y] += left[l][x] * h[l][y];
                            }
                        }
                        target[x] = row;
                    }
                }
            }
        }
    }
}

impl<const D: usize, const B: usize, const P: usize> Space<D> for BodySpace<D, B, P> {
    fn laws(&self) -> &[Law] {
        &self.laws
    }

    fn diagonal(&self) -> &[Small<D>] {
        &self.diagonal
    }

    fn rates(&mut self, r: &[[f64; D]], u: &mut [[f64; D]]) {
        self.update_velocity(r);
        (0..self.laws.len()).for_each(|i| u[i] = self.rate(i));
    }

    fn coordinate_count(&self) -> Option<usize> {
        Some(B * self.mass.len())
    }

    fn can_sweep(&self) -> bool {
        self.couplings.is_empty()
    }

    fn sweep(&mut self, r: &mut [[f64; D]], contacts: &[OneContact<D>], alphas: &mut [f64], is_first: bool) -> f64 {
        if is_first {
            self.update_velocity(r);
        }
        let mut change = 0.0;
        for i in 0..self.laws.len() {
            let mut q = self.rate(i);
            let (w, old) = (&self.diagonal[i], r[i]);
            for k in 0..D {
                for l in 0..D {
                    q[k] -= w[k][l] * old[l];
                }
            }
            let new = contacts[i].solve(&q, &mut alphas[i]);
            let mut difference = [0.0; D];
            let mut own = 0.0;
            for k in 0..D {
                difference[k] = new[k] - old[k];
                own += (w[k][k] * difference[k]) * (w[k][k] * difference[k]);
            }
            if own > 0.0 {
                change += own;
                r[i] = new;
                for block in self.starts[i]..self.starts[i + 1] {
                    add_rows(&mut self.velocity[self.bodies[block] as usize], &self.moves[block], &difference);
                }
            }
        }
        change
    }

    fn newton_step(&mut self, a: &[Small<D>], b: &[Small<D>], f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool {
        if !self.is_analysed {
            self.analyse();
        }
        pulp::Arch::new().dispatch(Step { space: self, a, b, f, dr })
    }

    fn newton_step_again(&mut self, f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool {
        self.velocity.clear();
        self.velocity.resize(self.mass.len(), [0.0; B]);
        for i in 0..self.laws.len() {
            dr[i] = apply(&self.eliminated[i].1, &f[i]).map(|g| -g);
            for block in self.starts[i]..self.starts[i + 1] {
                add_rows(&mut self.velocity[self.bodies[block] as usize], &self.rows[block], &dr[i]);
            }
        }
        self.lu.solve(&mut self.velocity);
        for i in 0..self.laws.len() {
            let c = &self.eliminated[i].0;
            let mut du = [0.0; D];
            for block in self.starts[i]..self.starts[i + 1] {
                let (h, v) = (&self.rows[block], &self.velocity[self.bodies[block] as usize]);
                (0..D).for_each(|k| du[k] += dot(&h[k], v));
            }
            for k in 0..D {
                dr[i][k] -= dot(&c[k], &du);
            }
        }
        dr.as_flattened().iter().all(|x| x.is_finite())
    }

    fn sweep_work(&self) -> u64 {
        (2 * self.rows.len() * D * B + self.laws.len() * D * D) as u64
    }

    fn step_work(&self) -> u64 {
        self.lu.factor_work() + B as u64 * self.sweep_work()
    }

    fn determinant_sign(&self) -> f64 {
        // That of A W + B is det(B) det(M + Hᵀ B⁻¹ A H) / det(M), and the determinant of M is
        // positive.
        let own = self.eliminated.iter().map(|(_, inverse)| determinant_sign(inverse)).product::<f64>();
        own * self.lu.determinant_sign()
    }
}

/// A step of Newton's method, compiled for the vector units of the machine. Sweeps, rates and
/// further right-hand sides gain less than 5 % by that.
struct Step<'a, const D: usize, const B: usize, const P: usize> {
    space: &'a mut BodySpace<D, B, P>,
    a: &'a [Small<D>],
    b: &'a [Small<D>],
    f: &'a [[f64; D]],
    dr: &'a mut [[f64; D]],
}

impl<const D: usize, const B: usize, const P: usize> pulp::WithSimd for Step<'_, D, B, P> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, simd: S) -> bool {
        self.space.step_here(simd, self.a, self.b, self.f, self.dr)
    }
}

#[inline(always)]
fn dot<const N: usize>(a: &[f64; N], b: &[f64; N]) -> f64 {
    let mut sum = 0.0;
    for k in 0..N {
        sum += a[k] * b[k];
    }
    sum
}

#[inline(always)]
fn apply<const N: usize>(a: &[[f64; N]; N], x: &[f64; N]) -> [f64; N] {
    std::array::from_fn(|i| dot(&a[i], x))
}

/// $v \leftarrow v + \sum_k f_k h_k$.
#[inline(always)]
fn add_rows<const D: usize, const B: usize>(v: &mut [f64; B], rows: &[[f64; B]; D], factors: &[f64; D]) {
    for k in 0..D {
        for j in 0..B {
            v[j] += factors[k] * rows[k][j];
        }
    }
}

fn add<const N: usize, const P: usize>(target: &mut Padded<N, P>, block: &Block<N>) {
    for (target, row) in target.iter_mut().zip(block) {
        target.iter_mut().zip(row).for_each(|(target, x)| *target += x);
    }
}

/// The inverse of a matrix of one contact: by its cofactors where there are three rows.
#[inline(always)]
fn small_inverse<const D: usize>(b: &Small<D>) -> Option<Small<D>> {
    if D != 3 {
        return inverse(b);
    }
    let mut cofactors = [[0.0; D]; D];
    for i in 0..D {
        for j in 0..D {
            let (r, s, c, d) = ((i + 1) % D, (i + 2) % D, (j + 1) % D, (j + 2) % D);
            cofactors[j][i] = b[r][c] * b[s][d] - b[r][d] * b[s][c];
        }
    }
    let determinant: f64 = (0..D).map(|k| b[0][k] * cofactors[k][0]).sum();
    let factor = 1.0 / determinant;
    cofactors.as_flattened_mut().iter_mut().for_each(|x| *x *= factor);
    cofactors.as_flattened().iter().all(|x| x.is_finite()).then_some(cofactors)
}
