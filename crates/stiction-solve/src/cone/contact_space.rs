//! A problem with an explicit matrix $W$ of blocks, $u = W r + q$.

use super::block_lu::{BlockLu, Place, add_product};
use super::law::Law;
use super::one_contact::OneContact;
use super::space::{Small, Space, complete_diagonal};

/// $W$ as rows of blocks, the diagonal apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactSpace<const D: usize> {
    laws: Vec<Law>,
    offset: Vec<[f64; D]>,
    diagonal: Vec<Small<D>>,
    /// The diagonal without the ones of empty rows.
    true_diagonal: Vec<Small<D>>,
    starts: Vec<usize>,
    columns: Vec<u32>,
    blocks: Vec<Small<D>>,
    /// For Newton's method: couplings, factors, and where the blocks go.
    pattern: Vec<(u32, u32)>,
    lu: BlockLu<D, D>,
    places: Vec<Place>,
    is_analysed: bool,
    right_side: Vec<[f64; D]>,
}

impl<const D: usize> ContactSpace<D> {
    /// Starts anew and keeps the memory.
    pub fn clear(&mut self) {
        self.laws.clear();
        self.offset.clear();
        self.diagonal.clear();
        self.true_diagonal.clear();
        self.starts.clear();
        self.starts.push(0);
        self.columns.clear();
        self.blocks.clear();
        self.is_analysed = false;
    }

    /// Adds a contact with its offset; its blocks follow, and then
    /// [`end_contact`](Self::end_contact).
    pub fn push_contact(&mut self, law: Law, offset: [f64; D]) {
        self.laws.push(law);
        self.offset.push(offset);
        self.true_diagonal.push([[0.0; D]; D]);
    }

    /// Adds the block of the current contact and another one; returns its number.
    pub fn push_block(&mut self, column: usize, block: Small<D>) -> usize {
        self.columns.push(column as u32);
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// A block, to add to.
    pub fn block_mut(&mut self, number: usize) -> &mut Small<D> {
        &mut self.blocks[number]
    }

    /// The diagonal block of the current contact, to add to.
    pub fn diagonal_mut(&mut self) -> &mut Small<D> {
        self.true_diagonal.last_mut().expect("a contact was pushed")
    }

    /// Ends the blocks of the current contact, which has these rows.
    pub fn end_contact(&mut self, is_present: &[bool; D]) {
        self.starts.push(self.blocks.len());
        let mut diagonal = *self.true_diagonal.last().expect("a contact was pushed");
        complete_diagonal(&mut diagonal, is_present);
        self.diagonal.push(diagonal);
    }

    #[inline(always)]
    fn sum_of_others(&self, i: usize, r: &[[f64; D]]) -> [f64; D] {
        let mut sum = self.offset[i];
        for entry in self.starts[i]..self.starts[i + 1] {
            let (block, x) = (&self.blocks[entry], &r[self.columns[entry] as usize]);
            for k in 0..D {
                for l in 0..D {
                    sum[k] += block[k][l] * x[l];
                }
            }
        }
        sum
    }

    fn analyse(&mut self) {
        let count = self.laws.len();
        self.pattern.clear();
        for i in 0..count {
            self.pattern.extend(self.columns[self.starts[i]..self.starts[i + 1]].iter().map(|&j| (i as u32, j)));
        }
        self.lu.analyse(count, &self.pattern);
        self.places.clear();
        self.places.extend(self.pattern.iter().map(|&(i, j)| self.lu.place(i as usize, j as usize)));
        self.is_analysed = true;
    }
}

impl<const D: usize> Space<D> for ContactSpace<D> {
    fn laws(&self) -> &[Law] {
        &self.laws
    }

    fn diagonal(&self) -> &[Small<D>] {
        &self.diagonal
    }

    fn rates(&mut self, r: &[[f64; D]], u: &mut [[f64; D]]) {
        for i in 0..self.laws.len() {
            let mut sum = self.sum_of_others(i, r);
            let block = &self.true_diagonal[i];
            for k in 0..D {
                for l in 0..D {
                    sum[k] += block[k][l] * r[i][l];
                }
            }
            u[i] = sum;
        }
    }

    fn coordinate_count(&self) -> Option<usize> {
        None
    }

    fn can_sweep(&self) -> bool {
        true
    }

    fn sweep(&mut self, r: &mut [[f64; D]], contacts: &[OneContact<D>], alphas: &mut [f64], _is_first: bool) -> f64 {
        let mut change = 0.0;
        for i in 0..self.laws.len() {
            let q = self.sum_of_others(i, r);
            let new = contacts[i].solve(&q, &mut alphas[i]);
            for k in 0..D {
                let difference = self.diagonal[i][k][k] * (new[k] - r[i][k]);
                change += difference * difference;
            }
            r[i] = new;
        }
        change
    }

    fn newton_step(&mut self, a: &[Small<D>], b: &[Small<D>], f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool {
        if !self.is_analysed {
            self.analyse();
        }
        // (A W + B) dr = -F.
        self.lu.clear();
        for i in 0..self.laws.len() {
            let mut diagonal = b[i];
            if a[i].as_flattened().iter().all(|&x| x == 0.0) {
                self.lu.set_alone(i);
            } else {
                add_product(&mut diagonal, &a[i], &self.diagonal[i]);
                for entry in self.starts[i]..self.starts[i + 1] {
                    add_product(self.lu.block_mut(self.places[entry]), &a[i], &self.blocks[entry]);
                }
            }
            let place = self.lu.place(i, i);
            *self.lu.block_mut(place) = diagonal;
        }
        self.lu.factor() && self.newton_step_again(f, dr)
    }

    fn newton_step_again(&mut self, f: &[[f64; D]], dr: &mut [[f64; D]]) -> bool {
        self.right_side.clear();
        self.right_side.extend(f.iter().map(|f| f.map(|f| -f)));
        self.lu.solve(&mut self.right_side);
        dr.copy_from_slice(&self.right_side);
        dr.as_flattened().iter().all(|x| x.is_finite())
    }

    fn sweep_work(&self) -> u64 {
        ((self.blocks.len() + self.laws.len()) * D * D) as u64
    }

    fn step_work(&self) -> u64 {
        self.lu.factor_work() + D as u64 * self.sweep_work()
    }

    fn determinant_sign(&self) -> f64 {
        self.lu.determinant_sign()
    }
}
