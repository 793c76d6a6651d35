import Mathlib

/-!
# FedAvg with inexact local gradients, unequal numbers of steps, weighted cohorts

$\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(w^t)\|^2 \left(1 - x^{2} \left(\frac{50}{27} + \frac{100 \kappa A L \left(1 + \delta\right)}{27}\right)\right)\le\frac{2 (F(w^0)-F^*)}{A T}+x^{2} \sigma_g^{2} \left(\frac{50}{27} + \frac{100 \kappa A L \left(1 + \delta\right)}{27}\right)+\rho^{2} L^{2} \left(1 + 2 \kappa A L \left(1 + \delta\right)\right) \left(2 + \frac{50 x^{2}}{27}\right)+2 \kappa A L \left(1 + \delta\right) \left(\sigma_g^{2} + \frac{\sigma_l^{2}}{K}\right)+x L \eta_l \sigma_l^{2} \left(\frac{100}{27} + \frac{200 \kappa A L \left(1 + \delta\right)}{27}\right)+\frac{2 A L \sigma_l^{2} \left(1 + \delta \kappa\right)}{K \bar N}$

Written from `docs/proofs/inexact-gradients-unequal-steps.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace InexactGradientsUnequalSteps

/-- `L A < 1`, rule: hypothesis; step size -/
def step_1 (A L excess kappa : ℝ) : Prop :=
    0 < ((-A) * L * (excess * kappa + 1) + 1 : ℝ)

/-- `L A <= 1/2`, rule: hypothesis; step size -/
def step_2 (A L excess kappa : ℝ) : Prop :=
    0 ≤ ((-A) * L * (excess * kappa + 1) + 1 / 2 : ℝ)

/-- `local gradients`, rule: hypothesis; inexact-gradients-one-client, in the mean over clients with weights q_i -/
def step_3 (L X dot_G_G dot_G_b dot_b_b dot_r_r eta rho sigma_l : ℝ) : Prop :=
    0 ≤ (50 * L ^ 2 * X ^ 2 * rho ^ 2 / 27 + 2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (dot_G_G + 2 * dot_G_b + dot_b_b) / 27 - dot_r_r : ℝ)

/-- `local noise`, rule: hypothesis; inexact-gradients-one-client, in the mean over clients with weights q_i; sum of q_i/K_i = 1/K -/
def step_4 (K dot_z_z sigma_l : ℝ) : Prop :=
    0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ)

/-- `heterogeneity`, rule: hypothesis; sum q_i|grad F_i - grad F|^2 <= sigma_g^2 -/
def step_5 (dot_b_b sigma_g : ℝ) : Prop :=
    0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ)

/-- `b has mean zero`, rule: mean over clients -/
def step_6 (dot_G_b : ℝ) : Prop :=
    (dot_G_b : ℝ) = 0

/-- `|r|^2`, rule: combination of step_3, step_5, step_6 -/
theorem step_7
    {L X dot_G_G dot_G_b dot_b_b dot_r_r eta rho sigma_g sigma_l : ℝ}
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_3 : 0 ≤ (50 * L ^ 2 * X ^ 2 * rho ^ 2 / 27 + 2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (dot_G_G + 2 * dot_G_b + dot_b_b) / 27 - dot_r_r : ℝ))
    (step_5 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_6 : (dot_G_b : ℝ) = 0) :
    0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) := by
  have same : (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) = (1) * (50 * L ^ 2 * X ^ 2 * rho ^ 2 / 27 + 2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (dot_G_G + 2 * dot_G_b + dot_b_b) / 27 - dot_r_r : ℝ) + (50 * X ^ 2 / 27) * (-dot_b_b + sigma_g ^ 2 : ℝ) + ((-100) * X ^ 2 / 27) * (dot_G_b : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_3) (mul_nonneg (by positivity) step_5)) (le_of_eq (by rw [step_6]; ring)))

/-- `m is the mean of r`, rule: mean over clients -/
def step_8 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_9
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|m|^2`, rule: combination of step_8, step_9 -/
theorem step_10
    {dot_m_m dot_m_r dot_r_r : ℝ}
    (step_8 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_9 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ)) :
    0 ≤ (-dot_m_m + dot_r_r : ℝ) := by
  have same : (-dot_m_m + dot_r_r : ℝ) = (1) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (2) * (-dot_m_m + dot_m_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_9) (le_of_eq (by rw [step_8]; ring)))

/-- `clients are independent`, rule: independence -/
def step_11 (N dot_n_n dot_z_z : ℝ) : Prop :=
    0 ≤ (-dot_n_n + dot_z_z / N : ℝ)

/-- `|n|^2`, rule: combination of step_11, step_4 -/
theorem step_12
    {K N dot_n_n dot_z_z sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_N : 0 < N)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_4 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_11 : 0 ≤ (-dot_n_n + dot_z_z / N : ℝ)) :
    0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) := by
  have same : (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) = (1 / N) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (1) * (-dot_n_n + dot_z_z / N : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_4) (mul_nonneg (by positivity) step_11))

/-- `n is unbiased`, rule: unbiased -/
def step_13 (dot_G_n : ℝ) : Prop :=
    (dot_G_n : ℝ) = 0

/-- `cohort along G`, rule: hypothesis; E<G, d> = <G, sum q_i u_i> -/
def step_14 (dot_G_G dot_G_d dot_G_m dot_G_n : ℝ) : Prop :=
    (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0

/-- `weighted cohort`, rule: hypothesis; E|d|^2 <= (1 + kappa e)|mean|^2 + kappa (1 + e)|u - mean|^2 -/
def step_15 (dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z excess kappa : ℝ) : Prop :=
    0 ≤ (-dot_d_d + kappa * (excess + 1) * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) + (excess * kappa + 1) * (dot_G_G + 2 * dot_G_m + 2 * dot_G_n + dot_m_m + 2 * dot_m_n + dot_n_n) : ℝ)

/-- `G against u`, rule: mean over clients -/
def step_16 (dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z : ℝ) : Prop :=
    (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0

/-- `z is unbiased`, rule: unbiased -/
def step_17 (dot_b_z : ℝ) : Prop :=
    (dot_b_z : ℝ) = 0

/-- `mean of u against G`, rule: square -/
theorem step_18
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (1 : ℝ) • n, (1 : ℝ) • m + (1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young between clients`, rule: square -/
theorem step_19
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {b r z : E} :
    0 ≤ ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) := by
  have same : ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r, (1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm b r, real_inner_comm b z, real_inner_comm r z]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `spread of the clients`, rule: combination of step_16, step_17, step_18, step_19, step_4, step_5, step_7 -/
theorem step_20
    {K L X dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta rho sigma_g sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_4 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_5 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_7 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ))
    (step_16 : (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0)
    (step_17 : (dot_b_z : ℝ) = 0)
    (step_18 : 0 ≤ (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ))
    (step_19 : 0 ≤ (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ)) :
    0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) := by
  have same : (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) = (1) * (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ) + (1) * (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ) + (2) * (-dot_b_b + sigma_g ^ 2 : ℝ) + (2) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (-4) * (dot_b_z : ℝ) + (2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) + (-2) * (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_18) (mul_nonneg (by positivity) step_19)) (mul_nonneg (by positivity) step_5)) (mul_nonneg (by positivity) step_4)) (le_of_eq (by rw [step_17]; ring))) (mul_nonneg (by positivity) step_7)) (le_of_eq (by rw [step_16]; ring)))

/-- `Young against the noise`, rule: square -/
theorem step_21
    {A L excess kappa : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m n : E} :
    0 ≤ (A ^ 2 * L ^ 2 * (⟪n, n⟫_ℝ) * (excess * kappa + 1) ^ 2 - 2 * A * L * (⟪G, n⟫_ℝ) * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) - 2 * A * L * (⟪m, n⟫_ℝ) * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) + (⟪G, G⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + 2 * (⟪G, m⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + (⟪m, m⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 : ℝ) := by
  have same : (A ^ 2 * L ^ 2 * (⟪n, n⟫_ℝ) * (excess * kappa + 1) ^ 2 - 2 * A * L * (⟪G, n⟫_ℝ) * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) - 2 * A * L * (⟪m, n⟫_ℝ) * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) + (⟪G, G⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + 2 * (⟪G, m⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + (⟪m, m⟫_ℝ) * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 : ℝ) = ⟪((-A) * L * (excess * kappa + 1) + 1 : ℝ) • G + ((-A) * L * (excess * kappa + 1) + 1 : ℝ) • m + ((-A) * L * (excess * kappa + 1) : ℝ) • n, ((-A) * L * (excess * kappa + 1) + 1 : ℝ) • G + ((-A) * L * (excess * kappa + 1) + 1 : ℝ) • m + ((-A) * L * (excess * kappa + 1) : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m, real_inner_comm G n, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `smoothness of F`, rule: smooth value -/
def step_22 (A F F_next L dot_G_d dot_d_d : ℝ) : Prop :=
    0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ)

/-- `one round`, rule: combination of step_10, step_12, step_13, step_14, step_15, step_2, step_20, step_21, step_22, step_7 -/
theorem step_23
    {A F F_next K L N X dot_G_G dot_G_b dot_G_d dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta excess kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_2 : 0 ≤ ((-A) * L * (excess * kappa + 1) + 1 / 2 : ℝ))
    (step_7 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ))
    (step_10 : 0 ≤ (-dot_m_m + dot_r_r : ℝ))
    (step_12 : 0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ))
    (step_13 : (dot_G_n : ℝ) = 0)
    (step_14 : (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0)
    (step_15 : 0 ≤ (-dot_d_d + kappa * (excess + 1) * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) + (excess * kappa + 1) * (dot_G_G + 2 * dot_G_m + 2 * dot_G_n + dot_m_m + 2 * dot_m_n + dot_n_n) : ℝ))
    (step_20 : 0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ))
    (step_21 : 0 ≤ (A ^ 2 * L ^ 2 * dot_n_n * (excess * kappa + 1) ^ 2 - 2 * A * L * dot_G_n * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) - 2 * A * L * dot_m_n * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) + dot_G_G * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + 2 * dot_G_m * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + dot_m_m * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 : ℝ))
    (step_22 : 0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ))
    (step_1 : 0 < ((-A) * L * (excess * kappa + 1) + 1 : ℝ)) :
    0 ≤ ((-A) * ((-2) * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ) := by
  have same : ((-A) * ((-2) * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ) = (1) * (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ) + (A) * (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) + (A ^ 2 * L / 2) * (-dot_d_d + kappa * (excess + 1) * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) + (excess * kappa + 1) * (dot_G_G + 2 * dot_G_m + 2 * dot_G_n + dot_m_m + 2 * dot_m_n + dot_n_n) : ℝ) + (A) * (dot_G_n : ℝ) + (A / ((-2) * A * L * (excess * kappa + 1) + 2)) * (A ^ 2 * L ^ 2 * dot_n_n * (excess * kappa + 1) ^ 2 - 2 * A * L * dot_G_n * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) - 2 * A * L * dot_m_n * (excess * kappa + 1) * ((-A) * L * (excess * kappa + 1) + 1) + dot_G_G * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + 2 * dot_G_m * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 + dot_m_m * ((-A) * L * (excess * kappa + 1) + 1) ^ 2 : ℝ) + (A ^ 2 * L * (excess * kappa + 1) / (2 * ((-A) * L * (excess * kappa + 1) + 1))) * (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) + (A / 2) * (-dot_m_m + dot_r_r : ℝ) + (A / 2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) + (A ^ 2 * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N * ((-A) * L * (excess * kappa + 1) + 1))) * ((-A) * L * (excess * kappa + 1) + 1 / 2 : ℝ) + (A ^ 2 * L * kappa * (excess + 1) / 2) * (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_22) (le_of_eq (by rw [step_14]; ring))) (mul_nonneg (by positivity) step_15)) (le_of_eq (by rw [step_13]; ring))) (mul_nonneg (by positivity) step_21)) (mul_nonneg (by positivity) step_12)) (mul_nonneg (by positivity) step_10)) (mul_nonneg (by positivity) step_7)) (mul_nonneg (by positivity) step_2)) (mul_nonneg (by positivity) step_20))

/-- `after t rounds`, rule: loop of step_23 -/
theorem step_24
    {A F_0 K L N X eta excess kappa rho sigma_g sigma_l : ℝ}
    {F F_next G_sum dot_G_G t : ℕ → ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : ∀ j, 0 ≤ t j)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_F : F 0 = (F_0 : ℝ))
    (turn_F : ∀ j, F (j + 1) = ((F_next j) : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((G_sum j) + (dot_G_G j) : ℝ))
    (step_23 : ∀ j, 0 ≤ ((-A) * ((-2) * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + (dot_G_G j) * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + (F j) - (F_next j) : ℝ)) :
    ∀ j, 0 ≤ ((-A) * ((G_sum j) * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - (t j) * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - (F j) + F_0 : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_F, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((-A) * ((G_sum (j + 1)) * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - (t (j + 1)) * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - (F (j + 1)) + F_0 : ℝ) = (1) * ((-A) * ((G_sum j) * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - (t j) * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - (F j) + F_0 : ℝ) + (1) * ((-A) * ((-2) * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + (dot_G_G j) * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + (F j) - (F_next j) : ℝ) := by
        rw [turn_t, turn_F, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_23 j)))

/-- `after T rounds`, rule: instance of step_24 -/
theorem step_25
    {A F F_0 G_sum K L N T X eta excess kappa rho sigma_g sigma_l t : ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_24 : 0 ≤ ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - t * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - T * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ) := by
  have same : ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - T * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ) = ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - t * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_24

/-- `F is bounded below`, rule: hypothesis; F(w^T) >= F^* -/
def step_26 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean over the rounds -/
def step_27 (G_sum Gamma T : ℝ) : Prop :=
    ((-G_sum) / T + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names F(w^0) - F^* -/
def step_28 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_25, step_26, step_27, step_28 -/
theorem step_29
    {A Delta F F_0 F_star G_sum Gamma K L N T X eta excess kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_25 : 0 ≤ ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - T * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ))
    (step_26 : 0 ≤ (F - F_star : ℝ))
    (step_27 : ((-G_sum) / T + Gamma : ℝ) = 0)
    (step_28 : (Delta - F_0 + F_star : ℝ) = 0)
    (step_1 : 0 < ((-A) * L * (excess * kappa + 1) + 1 : ℝ)) :
    0 ≤ (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 2 * Delta / (A * T) : ℝ) := by
  have same : (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 2 * Delta / (A * T) : ℝ) = (2 / (A * T)) * ((-A) * (G_sum * ((-100) * A * L * X ^ 2 * excess * kappa / 27 - 100 * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1) - T * (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27))) / 2 - F + F_0 : ℝ) + (2 / (A * T)) * (F - F_star : ℝ) + (2 / (A * T)) * (Delta - F_0 + F_star : ℝ) + (100 * A * L * X ^ 2 * excess * kappa / 27 + 100 * A * L * X ^ 2 * kappa / 27 + 50 * X ^ 2 / 27 - 1) * ((-G_sum) / T + Gamma : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_25) (mul_nonneg (by positivity) step_26)) (le_of_eq (by rw [step_28]; ring))) (le_of_eq (by rw [step_27]; ring)))

/-- The statement of `inexact-gradients-unequal-steps`, of step_29 -/
theorem conclusion
    {A Delta Gamma K L N T X eta excess kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_excess : 0 ≤ excess)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_29 : 0 ≤ (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 2 * Delta / (A * T) : ℝ)) :
    (Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) : ℝ) ≤ (2 * Delta / (A * T) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + 2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) : ℝ) := by
  have same : (2 * Delta / (A * T) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + 2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) : ℝ) - (Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) : ℝ) = (2 * A * L * kappa * (excess + 1) * (sigma_g ^ 2 + sigma_l ^ 2 / K) + 2 * A * L * sigma_l ^ 2 * (excess * kappa + 1) / (K * N) - Gamma * ((-X ^ 2) * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa * (excess + 1) + 1) + L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa * (excess + 1) / 27 + 100 / 27) + X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa * (excess + 1) / 27 + 50 / 27) + 2 * Delta / (A * T) : ℝ) := by
    field_simp
    ring
  linarith

end InexactGradientsUnequalSteps
