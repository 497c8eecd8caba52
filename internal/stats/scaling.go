package stats

import (
	"math"

	"github.com/sqlite3perf/sqlite3perf/internal/distinct"
)

// Scaling is the universal scalability law, fitted to throughputs of different numbers of
// clients. The throughput X of n clients is
//
//	X(n) = λn / (1 + σ(n-1) + κn(n-1))
//
// λ is the throughput of one client, σ the contention and κ the coherency (N. J. Gunther,
// Guerrilla Capacity Planning, Springer 2007, chapter 4).
type Scaling struct {
	Lambda float64 // λ: throughput of one client
	Sigma  float64 // σ, contention: the share of the work that only one client at a time can do, 0 to 1
	Kappa  float64 // κ, coherency: the cost of coordination for each pair of clients, 0 or more

	// Worst is the greatest distance between a measured throughput and the law, divided by the
	// measured throughput.
	Worst float64
}

// Throughput is the throughput that a number of clients reach together, in any unit.
type Throughput struct {
	Clients   float64
	PerSecond float64
}

// MinScaling is how many different numbers of clients [FitScaling] needs. With only three numbers of clients,
// the three parameters of the law would fit any throughputs.
const MinScaling = 4

// FitScaling fits the universal scalability law to points by least squares of the relative
// errors. In the form n/X(n) (n: clients, X: throughput) the law is linear in 1/λ, σ/λ and
// κ/λ. FitScaling therefore takes the best of several linear fits. In each of them, σ and κ are
// either free or fixed at a bound of their ranges. ok is false if there are fewer than [MinScaling]
// different numbers of clients, or if any value is not positive.
func FitScaling(points []Throughput) (s Scaling, ok bool) {
	var clients []float64
	for _, p := range points {
		if !(p.Clients > 0 && p.PerSecond > 0) || math.IsInf(p.Clients/p.PerSecond, 0) {
			return Scaling{}, false
		}
		clients = distinct.Append(clients, p.Clients)
	}
	if len(clients) < MinScaling {
		return Scaling{}, false
	}
	all := func(n float64) float64 { return n } // the sum of the terms "first" and "serial", which have the same factor if σ is 1
	least := math.Inf(1)
	for _, fits := range []struct {
		terms        []func(n float64) float64
		serial       float64 // fixed value of σ, if the fit does not compute it
		sigma, kappa int     // index of the term whose factor has σ or κ; 0 if there is none
	}{
		{terms: []func(float64) float64{first}},
		{terms: []func(float64) float64{all}, serial: 1},
		{terms: []func(float64) float64{first, serial}, sigma: 1},
		{terms: []func(float64) float64{first, pairs}, kappa: 1},
		{terms: []func(float64) float64{all, pairs}, serial: 1, kappa: 1},
		{terms: []func(float64) float64{first, serial, pairs}, sigma: 1, kappa: 2},
	} {
		c, solved := leastSquares(points, fits.terms)
		if !solved || c[0] <= 0 {
			continue
		}
		fit := Scaling{Lambda: 1 / c[0], Sigma: fits.serial}
		if fits.sigma > 0 {
			fit.Sigma = c[fits.sigma] / c[0]
		}
		if fits.kappa > 0 {
			fit.Kappa = c[fits.kappa] / c[0]
		}
		if fit.Sigma < 0 || fit.Sigma > 1 || fit.Kappa < 0 {
			continue
		}
		sum := 0.0
		for _, p := range points {
			e := 1 - p.PerSecond/fit.At(p.Clients) // relative error of n/X(n), which is linear in the factors
			sum += e * e
			fit.Worst = max(fit.Worst, math.Abs(fit.At(p.Clients)/p.PerSecond-1))
		}
		if sum < least {
			least, s, ok = sum, fit, true
		}
	}
	return s, ok
}

// The terms of the law in the form n/X(n), where n is the number of clients and X(n) their
// throughput.
func first(float64) float64    { return 1 }
func serial(n float64) float64 { return n - 1 }
func pairs(n float64) float64  { return n * (n - 1) }

// Falling returns κn² - (1-σ) for n clients. The result is above 0 exactly if throughput falls at n
// clients. σ and κ are the parameters of [Scaling], but fitted without bounds. With bounds, every
// fit to a constant throughput would have a peak. Without bounds, the result for a constant
// throughput is below 0 as often as above. ok is false if there is no fit.
func Falling(points []Throughput, clients float64) (fall float64, ok bool) {
	c, ok := leastSquares(points, []func(float64) float64{first, serial, pairs})
	if !ok || c[0] <= 0 {
		return 0, false
	}
	return (c[2]*clients*clients + c[1] - c[0]) / c[0], true // the slope X'(n) of the throughput has the sign of (1-σ)/λ - κn²/λ
}

// leastSquares approximates n/X(n) by a sum of the terms, each multiplied by a factor. n is the
// number of clients and X(n) their throughput. The returned factors make the sum of the squares of
// the relative errors least. ok is false if the points do not determine the factors.
func leastSquares(points []Throughput, terms []func(float64) float64) (factors []float64, ok bool) {
	k := len(terms)
	m := make([][]float64, k) // the normal equations, each with its right side in the last column
	for i := range m {
		m[i] = make([]float64, k+1)
		for _, p := range points {
			y := p.Clients / p.PerSecond
			for j, t := range terms {
				m[i][j] += terms[i](p.Clients) / y * t(p.Clients) / y
			}
			m[i][k] += terms[i](p.Clients) / y
		}
	}
	for i := range m { // Gauss-Jordan elimination with pivots
		best := i
		for r := i + 1; r < k; r++ {
			if math.Abs(m[r][i]) > math.Abs(m[best][i]) {
				best = r
			}
		}
		m[i], m[best] = m[best], m[i]
		if m[i][i] == 0 || math.IsInf(m[i][i], 0) || math.IsNaN(m[i][i]) {
			return nil, false
		}
		for r := range m {
			if r == i {
				continue
			}
			f := m[r][i] / m[i][i]
			for c := i; c <= k; c++ {
				m[r][c] -= f * m[i][c]
			}
		}
	}
	factors = make([]float64, k)
	for i := range factors {
		factors[i] = m[i][k] / m[i][i]
	}
	return factors, true
}

// At returns the throughput of n clients according to the law.
func (s Scaling) At(n float64) float64 {
	return s.Lambda * n / (1 + s.Sigma*(n-1) + s.Kappa*n*(n-1))
}

// Peak returns the number of clients beyond which throughput falls: √((1-σ)/κ), but at least
// 1. It is infinite if throughput never falls.
func (s Scaling) Peak() float64 {
	if s.Kappa == 0 {
		if s.Sigma == 1 { // any number of clients has the same throughput
			return 1
		}
		return math.Inf(1)
	}
	return max(1, math.Sqrt((1-s.Sigma)/s.Kappa))
}
