//! The symbolic half of a sparse factorisation: order of elimination and pattern of the factors.
//!
//! [`SparseLu`](crate::SparseLu) has numbers in this pattern, `BlockLu` has small blocks. Both
//! factor without pivoting, so everything here follows from the pattern of $A + A^T$ alone and is
//! kept while that stays. Row $k$ of $L$ holds what the elimination tree connects with the entries
//! of row $k$ of $A$ (\[D06\] §4), and $U$ has the pattern of $L^T$.

use std::ops::Range;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

/// The pattern of $A + A^T$ without its diagonal: the rows that each row is coupled to, ascending.
pub(crate) struct Graph {
    starts: Vec<usize>,
    neighbours: Vec<usize>,
}

impl Graph {
    /// The graph of these entries, each in one order or both.
    pub fn new(size: usize, entries: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut edges: Vec<(usize, usize)> =
            entries.filter(|(i, j)| i != j).flat_map(|(i, j)| [(i, j), (j, i)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let starts = starts(size, edges.iter().map(|&(i, _)| i));
        Self { starts, neighbours: edges.into_iter().map(|(_, j)| j).collect() }
    }

    /// The rows that a row is coupled to.
    pub fn neighbours(&self, row: usize) -> &[usize] {
        &self.neighbours[self.starts[row]..self.starts[row + 1]]
    }

    /// The rows in an order of approximate minimum degree (\[ADD96\]).
    pub fn minimum_degree(&self) -> Vec<usize> {
        let size = self.starts.len() - 1;
        let (mut order, mut position): (Vec<usize>, Vec<usize>) = ((0..size).collect(), vec![0; size]);
        // Any order will do for a diagonal matrix, as that of balls.
        if !self.neighbours.is_empty() {
            let mut memory = MemBuffer::new(amd::order_scratch::<usize>(size, self.neighbours.len()));
            let graph = SymbolicSparseColMatRef::new_checked(size, size, &self.starts, None, &self.neighbours);
            amd::order(&mut order, &mut position, graph, amd::Control::default(), MemStack::new(&mut memory))
                .expect("the indices of a matrix that fits into memory do not overflow");
        }
        order
    }
}

/// Where each of `size` groups begins, with the end, from the group of each member.
pub(crate) fn starts(size: usize, groups: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0; size + 1];
    groups.for_each(|group| starts[group + 1] += 1);
    (0..size).for_each(|group| starts[group + 1] += starts[group]);
    starts
}

/// The position of each row in an order.
pub(crate) fn positions(order: &[usize]) -> Vec<usize> {
    let mut position = vec![0; order.len()];
    order.iter().enumerate().for_each(|(k, &row)| position[row] = k);
    position
}

/// The order of elimination and the pattern of $L$ below its diagonal.
#[derive(Clone, Debug, Default)]
pub(crate) struct FactorPattern {
    /// The row at each position, and the position of each row.
    pub order: Vec<usize>,
    pub position: Vec<usize>,
    /// Column by column: the positions of the rows, ascending.
    pub column_starts: Vec<usize>,
    pub column_rows: Vec<usize>,
    /// Row by row: column, and place of the entry in `column_rows`.
    row_starts: Vec<usize>,
    rows: Vec<(usize, usize)>,
}

impl FactorPattern {
    /// The pattern that elimination in this order leaves.
    pub fn new(graph: &Graph, order: Vec<usize>) -> Self {
        const NONE: usize = usize::MAX;
        let (size, position) = (order.len(), positions(&order));
        let (mut parent, mut seen_by) = (vec![NONE; size], vec![NONE; size]);
        let (mut row_starts, mut columns) = (vec![0], Vec::new());
        for k in 0..size {
            seen_by[k] = k;
            let begin = columns.len();
            for first in graph.neighbours(order[k]).iter().map(|&row| position[row]).filter(|&first| first < k) {
                let mut i = first;
                while seen_by[i] != k {
                    seen_by[i] = k;
                    columns.push(i);
                    if parent[i] == NONE {
                        parent[i] = k;
                    }
                    i = parent[i];
                }
            }
            columns[begin..].sort_unstable();
            row_starts.push(columns.len());
        }
        let column_starts = starts(size, columns.iter().copied());
        let mut next = column_starts.clone();
        let mut column_rows = vec![0; columns.len()];
        let mut rows = Vec::with_capacity(columns.len());
        for k in 0..size {
            for &i in &columns[row_starts[k]..row_starts[k + 1]] {
                column_rows[next[i]] = k;
                rows.push((i, next[i]));
                next[i] += 1;
            }
        }
        Self { order, position, column_starts, column_rows, row_starts, rows }
    }

    /// Row $k$: columns with the places of their entries.
    #[inline(always)]
    pub fn row(&self, k: usize) -> &[(usize, usize)] {
        &self.rows[self.row_starts[k]..self.row_starts[k + 1]]
    }

    /// The places of the entries of a column.
    #[inline(always)]
    pub fn column(&self, k: usize) -> Range<usize> {
        self.column_starts[k]..self.column_starts[k + 1]
    }
}
