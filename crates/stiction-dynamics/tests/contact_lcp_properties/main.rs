//! What must hold for any contact problem: tens of thousands of them, each named by its family and
//! seed.

mod beyond;
mod cases;
mod energy;
mod enumeration;
mod judge;
mod modes;
mod relay;
mod solved;
mod symmetry;
mod warm_start;
