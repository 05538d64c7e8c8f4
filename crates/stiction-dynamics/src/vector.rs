//! Small vectors and sorted lists.

/// The largest magnitude; zero of none.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// The scalar product.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The length.
pub(crate) fn length(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// The length of three numbers.
pub(crate) fn norm(a: &[f64; 3]) -> f64 {
    length(a)
}

/// The difference.
pub(crate) fn subtract(a: &[f64; 3], b: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// What is written into an empty buffer.
pub(crate) fn filled<T: Default>(fill: impl FnOnce(&mut T)) -> T {
    let mut buffer = T::default();
    fill(&mut buffer);
    buffer
}

/// Writes values into a buffer, in place of what it held.
pub(crate) fn refill<T>(buffer: &mut Vec<T>, values: impl IntoIterator<Item = T>) {
    buffer.clear();
    buffer.extend(values);
}

/// Writes zeros into a buffer, in place of what it held.
pub(crate) fn zero<T: Clone + Default>(buffer: &mut Vec<T>, count: usize) {
    buffer.clear();
    buffer.resize(count, T::default());
}

/// Adds to a sorted list, once.
pub(crate) fn insert<T: Ord>(value: T, list: &mut Vec<T>) {
    if let Err(place) = list.binary_search(&value) {
        list.insert(place, value);
    }
}

/// Whether a sorted list has this value.
pub(crate) fn has<T: Ord>(list: &[T], value: T) -> bool {
    list.binary_search(&value).is_ok()
}
