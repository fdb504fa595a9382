//! Student's t distribution.

/// Chance of a t at least that far from zero.
pub fn two_sided(t: f64, freedom: f64) -> f64 {
    if !t.is_finite() {
        return if t.is_nan() { 1.0 } else { 0.0 };
    }
    incomplete_beta(freedom / 2.0, 0.5, freedom / (freedom + t * t)).clamp(0.0, 1.0)
}

/// The t that is exceeded, two-sided, with that chance.
pub fn quantile(chance: f64, freedom: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1e5);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, freedom) > chance { low = middle } else { high = middle }
    }
    low
}

/// The regularised incomplete beta function by its continued fraction (Lentz).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * fraction(a, b, x) / a
    } else {
        1.0 - front * fraction(b, a, 1.0 - x) / b
    }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut upper = 1.0;
    let mut lower = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut result = lower;
    for step in 1..300 {
        let m = f64::from(step);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            lower = 1.0 / away(1.0 + term * lower);
            upper = away(1.0 + term / upper);
            result *= lower * upper;
        }
        if (lower * upper - 1.0).abs() < 1e-14 {
            break;
        }
    }
    result
}

/// ln Γ(x) for x > 0: Stirling's series, after the recurrence has made x large enough for it.
fn ln_gamma(x: f64) -> f64 {
    let mut x = x;
    let mut product = 1.0;
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series = inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::{quantile, two_sided};

    #[test]
    fn student_as_tables_have_it() {
        for (t, freedom, p) in [(2.228, 10.0, 0.05), (2.576, 1e7, 0.01), (12.706, 1.0, 0.05), (4.587, 10.0, 0.001)] {
            assert!((two_sided(t, freedom) / p - 1.0).abs() < 2e-3, "{t} {freedom}: {}", two_sided(t, freedom));
            assert!((two_sided(-t, freedom) - two_sided(t, freedom)).abs() < 1e-12);
            assert!((quantile(p, freedom) / t - 1.0).abs() < 2e-3, "{p} {freedom}: {}", quantile(p, freedom));
        }
        assert!(two_sided(40.0, 38.0) < 1e-30 && two_sided(0.0, 5.0) > 0.999);
        assert!((two_sided(f64::NAN, 3.0) - 1.0).abs() < 1e-12 && two_sided(f64::INFINITY, 3.0) < 1e-300);
    }
}
