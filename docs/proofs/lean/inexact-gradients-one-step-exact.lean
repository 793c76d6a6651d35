import Mathlib

/-!
# FedAvg with inexact local gradients, one local step a round, exact gradients

$\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(w^t)\|^2\le\frac{2 (F(w^0)-F^*)}{A T}+\rho^{2} L^{2}$

Written from `docs/proofs/inexact-gradients-one-step-exact.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace InexactGradientsOneStepExact

/-- `L A <= 1`, rule: hypothesis; step size -/
def step_1 (A L : ℝ) : Prop :=
    0 ≤ ((-A) * L + 1 : ℝ)

/-- `norm size_e`, rule: norm -/
theorem step_2
    {size_e : ℝ}
    (sign_size_e : 0 ≤ size_e)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {r : E}
    (named : size_e = ‖(1 : ℝ) • r‖) :
    (-(⟪r, r⟫_ℝ) + size_e ^ 2 : ℝ) = 0 := by
  have same : (-(⟪r, r⟫_ℝ) + size_e ^ 2 : ℝ) = size_e ^ 2 - ⟪(1 : ℝ) • r, (1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `error`, rule: hypothesis; |e| <= L rho -/
def step_3 (L rho size_e : ℝ) : Prop :=
    0 ≤ (L * rho - size_e : ℝ)

/-- `|r|^2`, rule: combination of step_2, step_3 -/
theorem step_4
    {L dot_r_r rho size_e : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_size_e : 0 ≤ size_e)
    (step_2 : (-dot_r_r + size_e ^ 2 : ℝ) = 0)
    (step_3 : 0 ≤ (L * rho - size_e : ℝ)) :
    0 ≤ (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) := by
  have same : (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) = (L * rho + size_e) * (L * rho - size_e : ℝ) + (1) * (-dot_r_r + size_e ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_3) (le_of_eq (by rw [step_2]; ring)))

/-- `m is the mean of r`, rule: mean over clients -/
def step_5 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_6
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `everyone along G`, rule: sampled mean -/
def step_7 (dot_G_G dot_G_d dot_G_m : ℝ) : Prop :=
    (-dot_G_G + dot_G_d - dot_G_m : ℝ) = 0

/-- `everyone`, rule: sampling without replacement -/
def step_8 (dot_G_G dot_G_m dot_d_d dot_m_m : ℝ) : Prop :=
    (-dot_G_G - 2 * dot_G_m + dot_d_d - dot_m_m : ℝ) = 0

/-- `smoothness of F`, rule: smooth value -/
def step_9 (A F F_next L dot_G_d dot_d_d : ℝ) : Prop :=
    0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ)

/-- `square of the direction`, rule: square -/
theorem step_10
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m : E} :
    0 ≤ ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G + (1 : ℝ) • m, (1 : ℝ) • G + (1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `one round`, rule: combination of step_1, step_10, step_4, step_5, step_6, step_7, step_8, step_9 -/
theorem step_11
    {A F F_next L dot_G_G dot_G_d dot_G_m dot_d_d dot_m_m dot_m_r dot_r_r rho : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (step_1 : 0 ≤ ((-A) * L + 1 : ℝ))
    (step_4 : 0 ≤ (L ^ 2 * rho ^ 2 - dot_r_r : ℝ))
    (step_5 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_6 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ))
    (step_7 : (-dot_G_G + dot_G_d - dot_G_m : ℝ) = 0)
    (step_8 : (-dot_G_G - 2 * dot_G_m + dot_d_d - dot_m_m : ℝ) = 0)
    (step_9 : 0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ))
    (step_10 : 0 ≤ (dot_G_G + 2 * dot_G_m + dot_m_m : ℝ)) :
    0 ≤ ((-A) * ((-L ^ 2) * rho ^ 2 + dot_G_G) / 2 + F - F_next : ℝ) := by
  have same : ((-A) * ((-L ^ 2) * rho ^ 2 + dot_G_G) / 2 + F - F_next : ℝ) = (1) * (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ) + (A) * (-dot_G_G + dot_G_d - dot_G_m : ℝ) + ((-A ^ 2) * L / 2) * (-dot_G_G - 2 * dot_G_m + dot_d_d - dot_m_m : ℝ) + (A / 2) * ((-A) * L + 1 : ℝ) * (dot_G_G + 2 * dot_G_m + dot_m_m : ℝ) + (A / 2) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (A) * (-dot_m_m + dot_m_r : ℝ) + (A / 2) * (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_9) (le_of_eq (by rw [step_7]; ring))) (le_of_eq (by rw [step_8]; ring))) (mul_nonneg (mul_nonneg (by positivity) step_1) step_10)) (mul_nonneg (by positivity) step_6)) (le_of_eq (by rw [step_5]; ring))) (mul_nonneg (by positivity) step_4))

/-- `after t rounds`, rule: loop of step_11 -/
theorem step_12
    {A F_0 L rho : ℝ}
    {F F_next G_sum dot_G_G t : ℕ → ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_t : ∀ j, 0 ≤ t j)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_F : F 0 = (F_0 : ℝ))
    (turn_F : ∀ j, F (j + 1) = ((F_next j) : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((G_sum j) + (dot_G_G j) : ℝ))
    (step_11 : ∀ j, 0 ≤ ((-A) * ((-L ^ 2) * rho ^ 2 + (dot_G_G j)) / 2 + (F j) - (F_next j) : ℝ)) :
    ∀ j, 0 ≤ ((-A) * ((G_sum j) - L ^ 2 * rho ^ 2 * (t j)) / 2 - (F j) + F_0 : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_F, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((-A) * ((G_sum (j + 1)) - L ^ 2 * rho ^ 2 * (t (j + 1))) / 2 - (F (j + 1)) + F_0 : ℝ) = (1) * ((-A) * ((G_sum j) - L ^ 2 * rho ^ 2 * (t j)) / 2 - (F j) + F_0 : ℝ) + (1) * ((-A) * ((-L ^ 2) * rho ^ 2 + (dot_G_G j)) / 2 + (F j) - (F_next j) : ℝ) := by
        rw [turn_t, turn_F, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_11 j)))

/-- `after T rounds`, rule: instance of step_12 -/
theorem step_13
    {A F F_0 G_sum L T rho t : ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_rho : 0 ≤ rho)
    (sign_t : 0 ≤ t)
    (step_12 : 0 ≤ ((-A) * (G_sum - L ^ 2 * rho ^ 2 * t) / 2 - F + F_0 : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ ((-A) * (G_sum - L ^ 2 * T * rho ^ 2) / 2 - F + F_0 : ℝ) := by
  have same : ((-A) * (G_sum - L ^ 2 * T * rho ^ 2) / 2 - F + F_0 : ℝ) = ((-A) * (G_sum - L ^ 2 * rho ^ 2 * t) / 2 - F + F_0 : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_12

/-- `F is bounded below`, rule: hypothesis; F(w^T) >= F^* -/
def step_14 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean over the rounds -/
def step_15 (G_sum Gamma T : ℝ) : Prop :=
    ((-G_sum) / T + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names F(w^0) - F^* -/
def step_16 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_13, step_14, step_15, step_16 -/
theorem step_17
    {A Delta F F_0 F_star G_sum Gamma L T rho : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_rho : 0 ≤ rho)
    (step_13 : 0 ≤ ((-A) * (G_sum - L ^ 2 * T * rho ^ 2) / 2 - F + F_0 : ℝ))
    (step_14 : 0 ≤ (F - F_star : ℝ))
    (step_15 : ((-G_sum) / T + Gamma : ℝ) = 0)
    (step_16 : (Delta - F_0 + F_star : ℝ) = 0) :
    0 ≤ (-Gamma + L ^ 2 * rho ^ 2 + 2 * Delta / (A * T) : ℝ) := by
  have same : (-Gamma + L ^ 2 * rho ^ 2 + 2 * Delta / (A * T) : ℝ) = (2 / (A * T)) * ((-A) * (G_sum - L ^ 2 * T * rho ^ 2) / 2 - F + F_0 : ℝ) + (2 / (A * T)) * (F - F_star : ℝ) + (2 / (A * T)) * (Delta - F_0 + F_star : ℝ) + (-1) * ((-G_sum) / T + Gamma : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_13) (mul_nonneg (by positivity) step_14)) (le_of_eq (by rw [step_16]; ring))) (le_of_eq (by rw [step_15]; ring)))

/-- The statement of `inexact-gradients-one-step-exact`, of step_17 -/
theorem conclusion
    {A Delta Gamma L T rho : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_rho : 0 ≤ rho)
    (step_17 : 0 ≤ (-Gamma + L ^ 2 * rho ^ 2 + 2 * Delta / (A * T) : ℝ)) :
    (Gamma : ℝ) ≤ (2 * Delta / (A * T) + L ^ 2 * rho ^ 2 : ℝ) := by
  have same : (2 * Delta / (A * T) + L ^ 2 * rho ^ 2 : ℝ) - (Gamma : ℝ) = (-Gamma + L ^ 2 * rho ^ 2 + 2 * Delta / (A * T) : ℝ) := by
    field_simp
    ring
  linarith

end InexactGradientsOneStepExact
