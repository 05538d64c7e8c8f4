//! A system, a scheme and a state, stepped through time.

use crate::{MechanicalSystem, Scheme, State, Step, StepError};

/// Equal steps from a start to an end; the last one is shorter where the end is not a multiple.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeGrid {
    /// Start, in seconds.
    pub start: f64,
    /// End, in seconds.
    pub end: f64,
    /// Step size, in seconds.
    pub step: f64,
}

/// A last step shorter than this share of a step is rounding of the division, and joins the one
/// before.
const SHORTEST_STEP: f64 = 1e-6;

impl TimeGrid {
    /// Number of steps.
    pub fn step_count(&self) -> u64 {
        let steps = (self.end - self.start) / self.step;
        let whole = steps.round();
        if (steps - whole).abs() <= SHORTEST_STEP { whole as u64 } else { steps.ceil() as u64 }
    }

    /// Time at the start of step `index`; computed, not summed, so that it carries no accumulated
    /// rounding.
    pub fn time(&self, index: u64) -> f64 {
        if index >= self.step_count() { self.end } else { self.start + index as f64 * self.step }
    }

    /// Size of step `index`.
    pub fn size(&self, index: u64) -> f64 {
        let rest = self.end - (self.start + index as f64 * self.step);
        if rest < (1.0 - SHORTEST_STEP) * self.step { rest } else { self.step }
    }
}

/// A system on its way through time.
pub struct Simulation {
    system: Box<dyn MechanicalSystem>,
    scheme: Box<dyn Scheme>,
    grid: TimeGrid,
    steps_done: u64,
    /// Whether the last step ended before the next time of the grid, at an event.
    is_between: bool,
    state: State,
    before: State,
    step: Step,
}

impl Simulation {
    /// A simulation from `state.t` on; `grid.start` must be that time.
    pub fn new(system: Box<dyn MechanicalSystem>, scheme: Box<dyn Scheme>, state: State, grid: TimeGrid) -> Self {
        Self {
            system,
            scheme,
            grid,
            steps_done: 0,
            is_between: false,
            before: state.clone(),
            state,
            step: Step::default(),
        }
    }

    /// The system.
    pub fn system(&self) -> &dyn MechanicalSystem {
        &*self.system
    }

    /// The scheme.
    pub fn scheme(&self) -> &dyn Scheme {
        &*self.scheme
    }

    /// The state now.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The state before the last step.
    pub fn before(&self) -> &State {
        &self.before
    }

    /// The last step.
    pub fn last_step(&self) -> &Step {
        &self.step
    }

    /// The time grid.
    pub fn grid(&self) -> TimeGrid {
        self.grid
    }

    /// Number of steps of the grid that were made.
    pub fn steps_done(&self) -> u64 {
        self.steps_done
    }

    /// Whether the end is reached.
    pub fn is_finished(&self) -> bool {
        self.steps_done >= self.grid.step_count()
    }

    /// Makes the next step: to the next time of the grid, or as far as the scheme goes, which may
    /// stop at an event on the way and take a step of no length for an impact. Does nothing at the
    /// end of the grid.
    ///
    /// # Errors
    /// [`StepError`] when the step could not be made; the state is then the one before it.
    pub fn step(&mut self) -> Result<(), StepError> {
        if self.is_finished() {
            return Ok(());
        }
        let h = match self.is_between {
            false => self.grid.size(self.steps_done),
            true => self.grid.time(self.steps_done + 1) - self.state.t,
        };
        let made = self.scheme.step(&*self.system, &self.state, h, &mut self.step);
        made.map_err(|error| error.named(&*self.system))?;
        self.is_between = self.step.h < h;
        if !self.is_between {
            self.steps_done += 1;
            self.step.state.t = self.grid.time(self.steps_done);
        }
        self.before.copy_from(&self.state);
        self.state.copy_from(&self.step.state);
        Ok(())
    }

    /// Steps to the end.
    ///
    /// # Errors
    /// [`StepError`] of the first step that could not be made.
    pub fn run(&mut self) -> Result<&State, StepError> {
        self.run_with(|_| {})
    }

    /// Steps to the end and shows the simulation to `observer` after every step.
    ///
    /// # Errors
    /// [`StepError`] of the first step that could not be made.
    pub fn run_with(&mut self, mut observer: impl FnMut(&Self)) -> Result<&State, StepError> {
        while !self.is_finished() {
            self.step()?;
            observer(self);
        }
        Ok(&self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_ends_exactly_and_shortens_only_a_real_last_step() {
        let grid = TimeGrid { start: 0.0, end: 1.0, step: 0.1 };
        assert_eq!((grid.step_count(), grid.time(10), grid.size(9)), (10, 1.0, 0.1));
        let grid = TimeGrid { start: 0.0, end: 1.0, step: 0.3 };
        assert_eq!((grid.step_count(), grid.time(4)), (4, 1.0));
        assert!((grid.size(3) - 0.1).abs() < 1e-15);
        let grid = TimeGrid { start: 2.0, end: 2.0, step: 0.3 };
        assert_eq!(grid.step_count(), 0);
    }
}
