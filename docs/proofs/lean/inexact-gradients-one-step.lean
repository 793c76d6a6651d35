import Mathlib

/-!
# FedAvg with inexact local gradients, one local step a round

$\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(w^t)\|^2\le\frac{2 (F(w^0)-F^*)}{A T}+\rho^{2} L^{2} \left(1 + 2 \kappa A L\right)+2 \kappa A L \left(\sigma_g^{2} + \sigma_l^{2}\right)+\frac{2 A L \sigma_l^{2}}{N}$

Written from `docs/proofs/inexact-gradients-one-step.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace InexactGradientsOneStep

/-- `L A < 1`, rule: hypothesis; step size -/
def step_1 (A L : ℝ) : Prop :=
    0 < ((-A) * L + 1 : ℝ)

/-- `L A <= 1/2`, rule: hypothesis; step size -/
def step_2 (A L : ℝ) : Prop :=
    0 ≤ ((-A) * L + 1 / 2 : ℝ)

/-- `norm size_e`, rule: norm -/
theorem step_3
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
def step_4 (L rho size_e : ℝ) : Prop :=
    0 ≤ (L * rho - size_e : ℝ)

/-- `|r|^2`, rule: combination of step_3, step_4 -/
theorem step_5
    {L dot_r_r rho size_e : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_size_e : 0 ≤ size_e)
    (step_3 : (-dot_r_r + size_e ^ 2 : ℝ) = 0)
    (step_4 : 0 ≤ (L * rho - size_e : ℝ)) :
    0 ≤ (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) := by
  have same : (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) = (L * rho + size_e) * (L * rho - size_e : ℝ) + (1) * (-dot_r_r + size_e ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_4) (le_of_eq (by rw [step_3]; ring)))

/-- `noise`, rule: hypothesis; E|zeta|^2 <= sigma_l^2 -/
def step_6 (dot_z_z sigma_l : ℝ) : Prop :=
    0 ≤ (-dot_z_z + sigma_l ^ 2 : ℝ)

/-- `heterogeneity`, rule: hypothesis; mean |grad F_i - grad F|^2 <= sigma_g^2 -/
def step_7 (dot_b_b sigma_g : ℝ) : Prop :=
    0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ)

/-- `b has mean zero`, rule: mean over clients -/
def step_8 (dot_G_b : ℝ) : Prop :=
    (dot_G_b : ℝ) = 0

/-- `m is the mean of r`, rule: mean over clients -/
def step_9 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_10
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|m|^2`, rule: combination of step_10, step_9 -/
theorem step_11
    {dot_m_m dot_m_r dot_r_r : ℝ}
    (step_9 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_10 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ)) :
    0 ≤ (-dot_m_m + dot_r_r : ℝ) := by
  have same : (-dot_m_m + dot_r_r : ℝ) = (1) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (2) * (-dot_m_m + dot_m_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_10) (le_of_eq (by rw [step_9]; ring)))

/-- `clients are independent`, rule: independence -/
def step_12 (N dot_n_n dot_z_z : ℝ) : Prop :=
    0 ≤ (-dot_n_n + dot_z_z / N : ℝ)

/-- `|n|^2`, rule: combination of step_12, step_6 -/
theorem step_13
    {N dot_n_n dot_z_z sigma_l : ℝ}
    (sign_N : 0 < N)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_6 : 0 ≤ (-dot_z_z + sigma_l ^ 2 : ℝ))
    (step_12 : 0 ≤ (-dot_n_n + dot_z_z / N : ℝ)) :
    0 ≤ (-dot_n_n + sigma_l ^ 2 / N : ℝ) := by
  have same : (-dot_n_n + sigma_l ^ 2 / N : ℝ) = (1 / N) * (-dot_z_z + sigma_l ^ 2 : ℝ) + (1) * (-dot_n_n + dot_z_z / N : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_6) (mul_nonneg (by positivity) step_12))

/-- `n is unbiased`, rule: unbiased -/
def step_14 (dot_G_n : ℝ) : Prop :=
    (dot_G_n : ℝ) = 0

/-- `cohort along G`, rule: sampled mean -/
def step_15 (dot_G_G dot_G_d dot_G_m dot_G_n : ℝ) : Prop :=
    (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0

/-- `cohort`, rule: sampling without replacement -/
def step_16 (dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z kappa : ℝ) : Prop :=
    (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0

/-- `Young against the noise`, rule: square -/
theorem step_17
    {A L : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m n : E} :
    0 ≤ (A ^ 2 * L ^ 2 * (⟪n, n⟫_ℝ) - 2 * A * L * (⟪G, n⟫_ℝ) * ((-A) * L + 1) - 2 * A * L * (⟪m, n⟫_ℝ) * ((-A) * L + 1) + (⟪G, G⟫_ℝ) * ((-A) * L + 1) ^ 2 + 2 * (⟪G, m⟫_ℝ) * ((-A) * L + 1) ^ 2 + (⟪m, m⟫_ℝ) * ((-A) * L + 1) ^ 2 : ℝ) := by
  have same : (A ^ 2 * L ^ 2 * (⟪n, n⟫_ℝ) - 2 * A * L * (⟪G, n⟫_ℝ) * ((-A) * L + 1) - 2 * A * L * (⟪m, n⟫_ℝ) * ((-A) * L + 1) + (⟪G, G⟫_ℝ) * ((-A) * L + 1) ^ 2 + 2 * (⟪G, m⟫_ℝ) * ((-A) * L + 1) ^ 2 + (⟪m, m⟫_ℝ) * ((-A) * L + 1) ^ 2 : ℝ) = ⟪((-A) * L + 1 : ℝ) • G + ((-A) * L + 1 : ℝ) • m + ((-A) * L : ℝ) • n, ((-A) * L + 1 : ℝ) • G + ((-A) * L + 1 : ℝ) • m + ((-A) * L : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m, real_inner_comm G n, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `smoothness of F`, rule: smooth value -/
def step_18 (A F F_next L dot_G_d dot_d_d : ℝ) : Prop :=
    0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ)

/-- `G against u`, rule: mean over clients -/
def step_19 (dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z : ℝ) : Prop :=
    (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0

/-- `z is unbiased`, rule: unbiased -/
def step_20 (dot_b_z : ℝ) : Prop :=
    (dot_b_z : ℝ) = 0

/-- `mean of u against G`, rule: square -/
theorem step_21
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (1 : ℝ) • n, (1 : ℝ) • m + (1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young between clients`, rule: square -/
theorem step_22
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {b r z : E} :
    0 ≤ ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) := by
  have same : ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r, (1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm b r, real_inner_comm b z, real_inner_comm r z]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `spread of the clients`, rule: combination of step_19, step_20, step_21, step_22, step_5, step_6, step_7 -/
theorem step_23
    {L dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z rho sigma_g sigma_l : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_5 : 0 ≤ (L ^ 2 * rho ^ 2 - dot_r_r : ℝ))
    (step_6 : 0 ≤ (-dot_z_z + sigma_l ^ 2 : ℝ))
    (step_7 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_19 : (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0)
    (step_20 : (dot_b_z : ℝ) = 0)
    (step_21 : 0 ≤ (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ))
    (step_22 : 0 ≤ (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ)) :
    0 ≤ (2 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 : ℝ) := by
  have same : (2 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 : ℝ) = (1) * (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ) + (1) * (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ) + (2) * (-dot_b_b + sigma_g ^ 2 : ℝ) + (2) * (-dot_z_z + sigma_l ^ 2 : ℝ) + (-4) * (dot_b_z : ℝ) + (2) * (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) + (-2) * (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_21) (mul_nonneg (by positivity) step_22)) (mul_nonneg (by positivity) step_7)) (mul_nonneg (by positivity) step_6)) (le_of_eq (by rw [step_20]; ring))) (mul_nonneg (by positivity) step_5)) (le_of_eq (by rw [step_19]; ring)))

/-- `one round`, rule: combination of step_11, step_13, step_14, step_15, step_16, step_17, step_18, step_2, step_23, step_5 -/
theorem step_24
    {A F F_next L N dot_G_G dot_G_b dot_G_d dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_2 : 0 ≤ ((-A) * L + 1 / 2 : ℝ))
    (step_5 : 0 ≤ (L ^ 2 * rho ^ 2 - dot_r_r : ℝ))
    (step_11 : 0 ≤ (-dot_m_m + dot_r_r : ℝ))
    (step_13 : 0 ≤ (-dot_n_n + sigma_l ^ 2 / N : ℝ))
    (step_14 : (dot_G_n : ℝ) = 0)
    (step_15 : (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0)
    (step_16 : (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0)
    (step_17 : 0 ≤ (A ^ 2 * L ^ 2 * dot_n_n - 2 * A * L * dot_G_n * ((-A) * L + 1) - 2 * A * L * dot_m_n * ((-A) * L + 1) + dot_G_G * ((-A) * L + 1) ^ 2 + 2 * dot_G_m * ((-A) * L + 1) ^ 2 + dot_m_m * ((-A) * L + 1) ^ 2 : ℝ))
    (step_18 : 0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ))
    (step_23 : 0 ≤ (2 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 : ℝ))
    (step_1 : 0 < ((-A) * L + 1 : ℝ)) :
    0 ≤ ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) - 2 * A * L * sigma_l ^ 2 / N - L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + dot_G_G) / 2 + F - F_next : ℝ) := by
  have same : ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) - 2 * A * L * sigma_l ^ 2 / N - L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + dot_G_G) / 2 + F - F_next : ℝ) = (1) * (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ) + (A) * (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) + ((-A ^ 2) * L / 2) * (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) + (A) * (dot_G_n : ℝ) + (A / ((-2) * A * L + 2)) * (A ^ 2 * L ^ 2 * dot_n_n - 2 * A * L * dot_G_n * ((-A) * L + 1) - 2 * A * L * dot_m_n * ((-A) * L + 1) + dot_G_G * ((-A) * L + 1) ^ 2 + 2 * dot_G_m * ((-A) * L + 1) ^ 2 + dot_m_m * ((-A) * L + 1) ^ 2 : ℝ) + (A ^ 2 * L / (2 * ((-A) * L + 1))) * (-dot_n_n + sigma_l ^ 2 / N : ℝ) + (A / 2) * (-dot_m_m + dot_r_r : ℝ) + (A / 2) * (L ^ 2 * rho ^ 2 - dot_r_r : ℝ) + (A ^ 2 * L * sigma_l ^ 2 / (N * ((-A) * L + 1))) * ((-A) * L + 1 / 2 : ℝ) + (A ^ 2 * L * kappa / 2) * (2 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_18) (le_of_eq (by rw [step_15]; ring))) (le_of_eq (by rw [step_16]; ring))) (le_of_eq (by rw [step_14]; ring))) (mul_nonneg (by positivity) step_17)) (mul_nonneg (by positivity) step_13)) (mul_nonneg (by positivity) step_11)) (mul_nonneg (by positivity) step_5)) (mul_nonneg (by positivity) step_2)) (mul_nonneg (by positivity) step_23))

/-- `after t rounds`, rule: loop of step_24 -/
theorem step_25
    {A F_0 L N kappa rho sigma_g sigma_l : ℝ}
    {F F_next G_sum dot_G_G t : ℕ → ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
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
    (step_24 : ∀ j, 0 ≤ ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) - 2 * A * L * sigma_l ^ 2 / N - L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + (dot_G_G j)) / 2 + (F j) - (F_next j) : ℝ)) :
    ∀ j, 0 ≤ ((-A) * ((G_sum j) - (t j) * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - (F j) + F_0 : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_F, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((-A) * ((G_sum (j + 1)) - (t (j + 1)) * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - (F (j + 1)) + F_0 : ℝ) = (1) * ((-A) * ((G_sum j) - (t j) * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - (F j) + F_0 : ℝ) + (1) * ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) - 2 * A * L * sigma_l ^ 2 / N - L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + (dot_G_G j)) / 2 + (F j) - (F_next j) : ℝ) := by
        rw [turn_t, turn_F, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_24 j)))

/-- `after T rounds`, rule: instance of step_25 -/
theorem step_26
    {A F F_0 G_sum L N T kappa rho sigma_g sigma_l t : ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_25 : 0 ≤ ((-A) * (G_sum - t * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ ((-A) * (G_sum - T * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ) := by
  have same : ((-A) * (G_sum - T * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ) = ((-A) * (G_sum - t * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_25

/-- `F is bounded below`, rule: hypothesis; F(w^T) >= F^* -/
def step_27 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean over the rounds -/
def step_28 (G_sum Gamma T : ℝ) : Prop :=
    ((-G_sum) / T + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names F(w^0) - F^* -/
def step_29 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_26, step_27, step_28, step_29 -/
theorem step_30
    {A Delta F F_0 F_star G_sum Gamma L N T kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_26 : 0 ≤ ((-A) * (G_sum - T * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ))
    (step_27 : 0 ≤ (F - F_star : ℝ))
    (step_28 : ((-G_sum) / T + Gamma : ℝ) = 0)
    (step_29 : (Delta - F_0 + F_star : ℝ) = 0) :
    0 ≤ (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N - Gamma + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * Delta / (A * T) : ℝ) := by
  have same : (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N - Gamma + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * Delta / (A * T) : ℝ) = (2 / (A * T)) * ((-A) * (G_sum - T * (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1))) / 2 - F + F_0 : ℝ) + (2 / (A * T)) * (F - F_star : ℝ) + (2 / (A * T)) * (Delta - F_0 + F_star : ℝ) + (-1) * ((-G_sum) / T + Gamma : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_26) (mul_nonneg (by positivity) step_27)) (le_of_eq (by rw [step_29]; ring))) (le_of_eq (by rw [step_28]; ring)))

/-- The statement of `inexact-gradients-one-step`, of step_30 -/
theorem conclusion
    {A Delta Gamma L N T kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_30 : 0 ≤ (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N - Gamma + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * Delta / (A * T) : ℝ)) :
    (Gamma : ℝ) ≤ (2 * Delta / (A * T) + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N : ℝ) := by
  have same : (2 * Delta / (A * T) + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N : ℝ) - (Gamma : ℝ) = (2 * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2) + 2 * A * L * sigma_l ^ 2 / N - Gamma + L ^ 2 * rho ^ 2 * (2 * A * L * kappa + 1) + 2 * Delta / (A * T) : ℝ) := by
    field_simp
    ring
  linarith

end InexactGradientsOneStep
