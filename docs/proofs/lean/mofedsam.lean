import Mathlib

/-!
# MoFedSAM, A <= beta/(4L)

$\tfrac1T\sum_{t<T}\mathbb E\|\nabla F(w^t)\|^2 \left(\frac{53}{54} - \frac{\kappa}{108}\right)\le\frac{2 (F(w^0)-F^*)}{A T}+y^{2} \sigma_g^{2} \beta^{2} \left(\frac{50}{27} + \frac{25 \kappa}{27}\right)+\rho^{2} L^{2} \left(\frac{109}{54} + \frac{109 \kappa}{108}\right)+y L \eta_l \sigma_l^{2} \beta^{2} \left(\frac{100}{27} + \frac{50 \kappa}{27}\right)+\kappa \left(\sigma_g^{2} + \frac{\sigma_l^{2}}{K}\right) \left(A L \left(2 + \left(1 - \beta\right)^{2}\right) + \frac{50 \beta y^{2} \left(1 - \beta\right)}{9}\right)+\frac{\sigma_l^{2} \left(A L \left(2 + \left(1 - \beta\right)^{2}\right) + \frac{50 \beta y^{2} \left(1 - \beta\right)}{9}\right)}{K N}$

Written from `docs/proofs/mofedsam.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace Mofedsam

/-- `beta <= 1`, rule: hypothesis; momentum -/
def step_1 (beta : ℝ) : Prop :=
    0 ≤ (1 - beta : ℝ)

/-- `L A <= beta/4`, rule: hypothesis; step size -/
def step_2 (A L beta : ℝ) : Prop :=
    0 ≤ ((-A) * L + beta / 4 : ℝ)

/-- `Y <= 1/10`, rule: hypothesis; local step size -/
def step_3 (Y : ℝ) : Prop :=
    0 ≤ (1 / 10 - Y : ℝ)

/-- `nu`, rule: hypothesis; nu names the weight of |m|^2 in the Lyapunov function -/
def step_4 (A L Y beta nu : ℝ) : Prop :=
    ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) = 0

/-- `kappa <= 1`, rule: hypothesis; (N - S)/(S (N - 1)) <= 1 -/
def step_5 (kappa : ℝ) : Prop :=
    0 ≤ (1 - kappa : ℝ)

/-- `X <= 1/10`, rule: combination of step_1, step_3 -/
theorem step_6
    {Y beta : ℝ}
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_3 : 0 ≤ (1 / 10 - Y : ℝ)) :
    0 ≤ ((-Y) * beta + 1 / 10 : ℝ) := by
  have same : ((-Y) * beta + 1 / 10 : ℝ) = (1) * (1 / 10 - Y : ℝ) + (Y) * (1 - beta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_3) (mul_nonneg (by positivity) step_1))

/-- `moves`, rule: combination of step_1, step_2, step_3, step_4 -/
theorem step_7
    {A L Y beta nu : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_nu : 0 ≤ nu)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_2 : 0 ≤ ((-A) * L + beta / 4 : ℝ))
    (step_3 : 0 ≤ (1 / 10 - Y : ℝ))
    (step_4 : ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) = 0) :
    0 ≤ ((-A) * L - nu * (beta + 1) + 1 / 4 : ℝ) := by
  have same : ((-A) * L - nu * (beta + 1) + 1 / 4 : ℝ) = (1) * ((-A) * L + beta / 4 : ℝ) + ((1 - beta) ^ 2 * (beta + 1) * (A * L + beta / 4) / beta ^ 2) * ((-A) * L + beta / 4 : ℝ) + ((25 * Y / 18 + 5 / 36) * (beta + 1)) * (1 - beta : ℝ) * (1 / 10 - Y : ℝ) + (beta ^ 2 / 16 + 23 / 144) * (1 - beta : ℝ) + (1 / 72) * (1 - beta : ℝ) * (1 - beta : ℝ) + (-beta - 1) * ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_2) (mul_nonneg (by positivity) step_2)) (mul_nonneg (mul_nonneg (by positivity) step_1) step_3)) (mul_nonneg (by positivity) step_1)) (mul_nonneg (mul_nonneg (by positivity) step_1) step_1)) (le_of_eq (by rw [step_4]; ring)))

/-- `cost of noise`, rule: combination of step_2, step_4 -/
theorem step_8
    {A L Y beta nu : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_nu : 0 ≤ nu)
    (step_2 : 0 ≤ ((-A) * L + beta / 4 : ℝ))
    (step_4 : ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) = 0) :
    0 ≤ (A * L * ((1 - beta) ^ 2 + 2) - 2 * A * L + 50 * Y ^ 2 * beta * (1 - beta) / 9 - 4 * beta * nu : ℝ) := by
  have same : (A * L * ((1 - beta) ^ 2 + 2) - 2 * A * L + 50 * Y ^ 2 * beta * (1 - beta) / 9 - 4 * beta * nu : ℝ) = (4 * A * L * (1 - beta) ^ 2 / beta) * ((-A) * L + beta / 4 : ℝ) + ((-4) * beta) * ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_2) (le_of_eq (by rw [step_4]; ring)))

/-- `4 omega <= 1/2`, rule: combination of step_1, step_2, step_3, step_4 -/
theorem step_9
    {A L Y beta nu : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_nu : 0 ≤ nu)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_2 : 0 ≤ ((-A) * L + beta / 4 : ℝ))
    (step_3 : 0 ≤ (1 / 10 - Y : ℝ))
    (step_4 : ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) = 0) :
    0 ≤ ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ) := by
  have same : ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ) = (2 + 4 * (1 - beta) ^ 2 * (A * L + beta / 4) / beta) * ((-A) * L + beta / 4 : ℝ) + (4 * beta * (25 * Y / 18 + 5 / 36)) * (1 - beta : ℝ) * (1 / 10 - Y : ℝ) + (beta ^ 2 / 4 + 7 / 36) * (1 - beta : ℝ) + (11 / 36) * (1 - beta : ℝ) * (1 - beta : ℝ) + ((-4) * beta) * ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_2) (mul_nonneg (mul_nonneg (by positivity) step_1) step_3)) (mul_nonneg (by positivity) step_1)) (mul_nonneg (mul_nonneg (by positivity) step_1) step_1)) (le_of_eq (by rw [step_4]; ring)))

/-- `cost of sampling`, rule: combination of step_5, step_9 -/
theorem step_10
    {A L beta kappa nu : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_beta : 0 < beta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (step_5 : 0 ≤ (1 - kappa : ℝ))
    (step_9 : 0 ≤ ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ)) :
    0 ≤ ((-kappa) * (2 * A * L + 4 * beta * nu) + 1 / 2 : ℝ) := by
  have same : ((-kappa) * (2 * A * L + 4 * beta * nu) + 1 / 2 : ℝ) = (1 / 2) * (1 - kappa : ℝ) + (kappa) * ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_5) (mul_nonneg (by positivity) step_9))

/-- `pays`, rule: combination of step_1, step_10, step_4 -/
theorem step_11
    {A L Y beta kappa nu : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_4 : ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) = 0)
    (step_10 : 0 ≤ ((-kappa) * (2 * A * L + 4 * beta * nu) + 1 / 2 : ℝ)) :
    0 ≤ ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - Y ^ 2 * (1 - beta) * (50 * kappa * (A * L + 2 * beta * nu) / 27 + 25 / 27) + nu : ℝ) := by
  have same : ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - Y ^ 2 * (1 - beta) * (50 * kappa * (A * L + 2 * beta * nu) / 27 + 25 / 27) + nu : ℝ) = (25 * Y ^ 2 / 27) * (1 - beta : ℝ) * ((-kappa) * (2 * A * L + 4 * beta * nu) + 1 / 2 : ℝ) + (1) * ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - 25 * Y ^ 2 * (1 - beta) / 18 + nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (mul_nonneg (by positivity) step_1) step_10) (le_of_eq (by rw [step_4]; ring)))

/-- `norm p`, rule: norm -/
theorem step_12
    {p : ℝ}
    (sign_p : 0 ≤ p)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k : E}
    (named : p = ‖(1 : ℝ) • P_k‖) :
    (-(⟪P_k, P_k⟫_ℝ) + p ^ 2 : ℝ) = 0 := by
  have same : (-(⟪P_k, P_k⟫_ℝ) + p ^ 2 : ℝ) = p ^ 2 - ⟪(1 : ℝ) • P_k, (1 : ℝ) • P_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm p_next`, rule: norm -/
theorem step_13
    {beta p_next : ℝ}
    (sign_beta : 0 < beta)
    (sign_p_next : 0 ≤ p_next)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D G P_k V b e : E}
    (named : p_next = ‖(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V + (1 : ℝ) • D + (1 : ℝ) • e‖) :
    (-(⟪D, D⟫_ℝ) - 2 * (⟪D, G⟫_ℝ) - 2 * (⟪D, P_k⟫_ℝ) - 2 * (⟪D, b⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪G, G⟫_ℝ) - 2 * (⟪G, P_k⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - 2 * (⟪G, e⟫_ℝ) - (⟪P_k, P_k⟫_ℝ) - 2 * (⟪P_k, b⟫_ℝ) - 2 * (⟪P_k, e⟫_ℝ) - (⟪b, b⟫_ℝ) - 2 * (⟪b, e⟫_ℝ) - (⟪e, e⟫_ℝ) + p_next ^ 2 - 2 * (⟪D, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪G, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪P_k, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, b⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, e⟫_ℝ) * (1 - beta) / beta - (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 : ℝ) = 0 := by
  have same : (-(⟪D, D⟫_ℝ) - 2 * (⟪D, G⟫_ℝ) - 2 * (⟪D, P_k⟫_ℝ) - 2 * (⟪D, b⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪G, G⟫_ℝ) - 2 * (⟪G, P_k⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - 2 * (⟪G, e⟫_ℝ) - (⟪P_k, P_k⟫_ℝ) - 2 * (⟪P_k, b⟫_ℝ) - 2 * (⟪P_k, e⟫_ℝ) - (⟪b, b⟫_ℝ) - 2 * (⟪b, e⟫_ℝ) - (⟪e, e⟫_ℝ) + p_next ^ 2 - 2 * (⟪D, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪G, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪P_k, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, b⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, e⟫_ℝ) * (1 - beta) / beta - (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 : ℝ) = p_next ^ 2 - ⟪(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V + (1 : ℝ) • D + (1 : ℝ) • e, (1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V + (1 : ℝ) • D + (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm D G, real_inner_comm D P_k, real_inner_comm D V, real_inner_comm D b, real_inner_comm D e, real_inner_comm G P_k, real_inner_comm G V, real_inner_comm G b, real_inner_comm G e, real_inner_comm P_k V, real_inner_comm P_k b, real_inner_comm P_k e, real_inner_comm V b, real_inner_comm V e, real_inner_comm b e]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm g`, rule: norm -/
theorem step_14
    {beta g : ℝ}
    (sign_beta : 0 < beta)
    (sign_g : 0 ≤ g)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G V b : E}
    (named : g = ‖(1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V‖) :
    (-(⟪G, G⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - (⟪b, b⟫_ℝ) + g ^ 2 - 2 * (⟪G, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, b⟫_ℝ) * (1 - beta) / beta - (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 : ℝ) = 0 := by
  have same : (-(⟪G, G⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - (⟪b, b⟫_ℝ) + g ^ 2 - 2 * (⟪G, V⟫_ℝ) * (1 - beta) / beta - 2 * (⟪V, b⟫_ℝ) * (1 - beta) / beta - (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 : ℝ) = g ^ 2 - ⟪(1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V, (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G V, real_inner_comm G b, real_inner_comm V b]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm size_D`, rule: norm -/
theorem step_15
    {size_D : ℝ}
    (sign_size_D : 0 ≤ size_D)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D : E}
    (named : size_D = ‖(1 : ℝ) • D‖) :
    (-(⟪D, D⟫_ℝ) + size_D ^ 2 : ℝ) = 0 := by
  have same : (-(⟪D, D⟫_ℝ) + size_D ^ 2 : ℝ) = size_D ^ 2 - ⟪(1 : ℝ) • D, (1 : ℝ) • D⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm size_e`, rule: norm -/
theorem step_16
    {size_e : ℝ}
    (sign_size_e : 0 ≤ size_e)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {e : E}
    (named : size_e = ‖(1 : ℝ) • e‖) :
    (-(⟪e, e⟫_ℝ) + size_e ^ 2 : ℝ) = 0 := by
  have same : (-(⟪e, e⟫_ℝ) + size_e ^ 2 : ℝ) = size_e ^ 2 - ⟪(1 : ℝ) • e, (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm q`, rule: norm -/
theorem step_17
    {q : ℝ}
    (sign_q : 0 ≤ q)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {Q_k : E}
    (named : q = ‖(1 : ℝ) • Q_k‖) :
    (-(⟪Q_k, Q_k⟫_ℝ) + q ^ 2 : ℝ) = 0 := by
  have same : (-(⟪Q_k, Q_k⟫_ℝ) + q ^ 2 : ℝ) = q ^ 2 - ⟪(1 : ℝ) • Q_k, (1 : ℝ) • Q_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm q_next`, rule: norm -/
theorem step_18
    {q_next : ℝ}
    (sign_q_next : 0 ≤ q_next)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {Q_k zeta : E}
    (named : q_next = ‖(1 : ℝ) • Q_k + (1 : ℝ) • zeta‖) :
    (-(⟪Q_k, Q_k⟫_ℝ) - 2 * (⟪Q_k, zeta⟫_ℝ) - (⟪zeta, zeta⟫_ℝ) + q_next ^ 2 : ℝ) = 0 := by
  have same : (-(⟪Q_k, Q_k⟫_ℝ) - 2 * (⟪Q_k, zeta⟫_ℝ) - (⟪zeta, zeta⟫_ℝ) + q_next ^ 2 : ℝ) = q_next ^ 2 - ⟪(1 : ℝ) • Q_k + (1 : ℝ) • zeta, (1 : ℝ) • Q_k + (1 : ℝ) • zeta⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm Q_k zeta]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm v`, rule: norm -/
theorem step_19
    {v : ℝ}
    (sign_v : 0 ≤ v)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {R_k : E}
    (named : v = ‖(1 : ℝ) • R_k‖) :
    (-(⟪R_k, R_k⟫_ℝ) + v ^ 2 : ℝ) = 0 := by
  have same : (-(⟪R_k, R_k⟫_ℝ) + v ^ 2 : ℝ) = v ^ 2 - ⟪(1 : ℝ) • R_k, (1 : ℝ) • R_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm v_next`, rule: norm -/
theorem step_20
    {v_next : ℝ}
    (sign_v_next : 0 ≤ v_next)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D R_k e : E}
    (named : v_next = ‖(1 : ℝ) • R_k + (1 : ℝ) • D + (1 : ℝ) • e‖) :
    (-(⟪D, D⟫_ℝ) - 2 * (⟪D, R_k⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪R_k, R_k⟫_ℝ) - 2 * (⟪R_k, e⟫_ℝ) - (⟪e, e⟫_ℝ) + v_next ^ 2 : ℝ) = 0 := by
  have same : (-(⟪D, D⟫_ℝ) - 2 * (⟪D, R_k⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪R_k, R_k⟫_ℝ) - 2 * (⟪R_k, e⟫_ℝ) - (⟪e, e⟫_ℝ) + v_next ^ 2 : ℝ) = v_next ^ 2 - ⟪(1 : ℝ) • R_k + (1 : ℝ) • D + (1 : ℝ) • e, (1 : ℝ) • R_k + (1 : ℝ) • D + (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm D R_k, real_inner_comm D e, real_inner_comm R_k e]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm y`, rule: norm -/
theorem step_21
    {y : ℝ}
    (sign_y : 0 ≤ y)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {x : E}
    (named : y = ‖(1 : ℝ) • x‖) :
    (-(⟪x, x⟫_ℝ) + y ^ 2 : ℝ) = 0 := by
  have same : (-(⟪x, x⟫_ℝ) + y ^ 2 : ℝ) = y ^ 2 - ⟪(1 : ℝ) • x, (1 : ℝ) • x⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm y_sum`, rule: norm -/
theorem step_22
    {beta eta y_sum : ℝ}
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (named : y_sum = ‖((-beta) * eta : ℝ) • P_k + ((-beta) * eta : ℝ) • Q_k‖) :
    ((-beta ^ 2) * (⟪P_k, P_k⟫_ℝ) * eta ^ 2 - 2 * beta ^ 2 * (⟪P_k, Q_k⟫_ℝ) * eta ^ 2 - beta ^ 2 * (⟪Q_k, Q_k⟫_ℝ) * eta ^ 2 + y_sum ^ 2 : ℝ) = 0 := by
  have same : ((-beta ^ 2) * (⟪P_k, P_k⟫_ℝ) * eta ^ 2 - 2 * beta ^ 2 * (⟪P_k, Q_k⟫_ℝ) * eta ^ 2 - beta ^ 2 * (⟪Q_k, Q_k⟫_ℝ) * eta ^ 2 + y_sum ^ 2 : ℝ) = y_sum ^ 2 - ⟪((-beta) * eta : ℝ) • P_k + ((-beta) * eta : ℝ) • Q_k, ((-beta) * eta : ℝ) • P_k + ((-beta) * eta : ℝ) • Q_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm P_k Q_k]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `error`, rule: hypothesis; |e_k| <= L rho -/
def step_23 (L rho size_e : ℝ) : Prop :=
    0 ≤ (L * rho - size_e : ℝ)

/-- `local model`, rule: hypothesis; x_k = -eta (P_k + Q_k), one vector, two names -/
def step_24 (y y_sum : ℝ) : Prop :=
    (-y + y_sum : ℝ) = 0

/-- `smooth`, rule: smooth gradient -/
def step_25 (L size_D y : ℝ) : Prop :=
    0 ≤ (L * y - size_D : ℝ)

/-- `P_k next`, rule: triangle -/
theorem step_26
    {beta g p p_next size_D size_e : ℝ}
    (sign_beta : 0 < beta)
    (sign_g : 0 ≤ g)
    (sign_p : 0 ≤ p)
    (sign_p_next : 0 ≤ p_next)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D G P_k V b e : E}
    (size_p_next : p_next = ‖(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V + (1 : ℝ) • D + (1 : ℝ) • e‖)
    (size_p : p = ‖(1 : ℝ) • P_k‖)
    (size_g : g = ‖(1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V‖)
    (size_size_D : size_D = ‖(1 : ℝ) • D‖)
    (size_size_e : size_e = ‖(1 : ℝ) • e‖) :
    0 ≤ (g + p - p_next + size_D + size_e : ℝ) := by
  have sum : (1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V + (1 : ℝ) • D + (1 : ℝ) • e = (1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V) + (1 : ℝ) • ((1 : ℝ) • D) + (1 : ℝ) • ((1 : ℝ) • e) := by
    module
  have rule_1 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k)) ((1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V))
  have rule_2 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V)) ((1 : ℝ) • ((1 : ℝ) • D))
  have rule_3 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V) + (1 : ℝ) • ((1 : ℝ) • D)) ((1 : ℝ) • ((1 : ℝ) • e))
  have length_0 := norm_smul (1 : ℝ) ((1 : ℝ) • P_k)
  have length_1 := norm_smul (1 : ℝ) ((1 : ℝ) • G + (1 : ℝ) • b + ((1 - beta) / beta : ℝ) • V)
  have length_2 := norm_smul (1 : ℝ) ((1 : ℝ) • D)
  have length_3 := norm_smul (1 : ℝ) ((1 : ℝ) • e)
  have sign_of_0 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_1 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_2 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_3 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_p_next, size_p, size_g, size_size_D, size_size_e]
  nlinarith

/-- `R_k next`, rule: triangle -/
theorem step_27
    {size_D size_e v v_next : ℝ}
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_v : 0 ≤ v)
    (sign_v_next : 0 ≤ v_next)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D R_k e : E}
    (size_v_next : v_next = ‖(1 : ℝ) • R_k + (1 : ℝ) • D + (1 : ℝ) • e‖)
    (size_v : v = ‖(1 : ℝ) • R_k‖)
    (size_size_D : size_D = ‖(1 : ℝ) • D‖)
    (size_size_e : size_e = ‖(1 : ℝ) • e‖) :
    0 ≤ (size_D + size_e + v - v_next : ℝ) := by
  have sum : (1 : ℝ) • R_k + (1 : ℝ) • D + (1 : ℝ) • e = (1 : ℝ) • ((1 : ℝ) • R_k) + (1 : ℝ) • ((1 : ℝ) • D) + (1 : ℝ) • ((1 : ℝ) • e) := by
    module
  have rule_1 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • R_k)) ((1 : ℝ) • ((1 : ℝ) • D))
  have rule_2 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • R_k) + (1 : ℝ) • ((1 : ℝ) • D)) ((1 : ℝ) • ((1 : ℝ) • e))
  have length_0 := norm_smul (1 : ℝ) ((1 : ℝ) • R_k)
  have length_1 := norm_smul (1 : ℝ) ((1 : ℝ) • D)
  have length_2 := norm_smul (1 : ℝ) ((1 : ℝ) • e)
  have sign_of_0 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_1 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_2 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_v_next, size_v, size_size_D, size_size_e]
  nlinarith

/-- `x_k`, rule: triangle -/
theorem step_28
    {beta eta p q y_sum : ℝ}
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (size_y_sum : y_sum = ‖((-beta) * eta : ℝ) • P_k + ((-beta) * eta : ℝ) • Q_k‖)
    (size_p : p = ‖(1 : ℝ) • P_k‖)
    (size_q : q = ‖(1 : ℝ) • Q_k‖) :
    0 ≤ (beta * eta * p + beta * eta * q - y_sum : ℝ) := by
  have sum : ((-beta) * eta : ℝ) • P_k + ((-beta) * eta : ℝ) • Q_k = ((-beta) * eta : ℝ) • ((1 : ℝ) • P_k) + ((-beta) * eta : ℝ) • ((1 : ℝ) • Q_k) := by
    module
  have rule_1 := norm_add_le (((-beta) * eta : ℝ) • ((1 : ℝ) • P_k)) (((-beta) * eta : ℝ) • ((1 : ℝ) • Q_k))
  have length_0 := norm_smul ((-beta) * eta : ℝ) ((1 : ℝ) • P_k)
  have length_1 := norm_smul ((-beta) * eta : ℝ) ((1 : ℝ) • Q_k)
  have sign_of_0 := abs_of_nonpos (show ((-beta) * eta ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  have sign_of_1 := abs_of_nonpos (show ((-beta) * eta ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_y_sum, size_p, size_q]
  nlinarith

/-- `P grows`, rule: combination of step_23, step_25, step_26 -/
theorem step_29
    {L g p p_next rho size_D size_e y : ℝ}
    (sign_L : 0 < L)
    (sign_g : 0 ≤ g)
    (sign_p : 0 ≤ p)
    (sign_p_next : 0 ≤ p_next)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_y : 0 ≤ y)
    (step_23 : 0 ≤ (L * rho - size_e : ℝ))
    (step_25 : 0 ≤ (L * y - size_D : ℝ))
    (step_26 : 0 ≤ (g + p - p_next + size_D + size_e : ℝ)) :
    0 ≤ (L * rho + L * y + g + p - p_next : ℝ) := by
  have same : (L * rho + L * y + g + p - p_next : ℝ) = (1) * (g + p - p_next + size_D + size_e : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_26) (mul_nonneg (by positivity) step_25)) (mul_nonneg (by positivity) step_23))

/-- `R grows`, rule: combination of step_23, step_25, step_27 -/
theorem step_30
    {L rho size_D size_e v v_next y : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_v : 0 ≤ v)
    (sign_v_next : 0 ≤ v_next)
    (sign_y : 0 ≤ y)
    (step_23 : 0 ≤ (L * rho - size_e : ℝ))
    (step_25 : 0 ≤ (L * y - size_D : ℝ))
    (step_27 : 0 ≤ (size_D + size_e + v - v_next : ℝ)) :
    0 ≤ (L * rho + L * y + v - v_next : ℝ) := by
  have same : (L * rho + L * y + v - v_next : ℝ) = (1) * (size_D + size_e + v - v_next : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_27) (mul_nonneg (by positivity) step_25)) (mul_nonneg (by positivity) step_23))

/-- `x from P and Q`, rule: combination of step_24, step_28 -/
theorem step_31
    {beta eta p q y y_sum : ℝ}
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_y : 0 ≤ y)
    (sign_y_sum : 0 ≤ y_sum)
    (step_24 : (-y + y_sum : ℝ) = 0)
    (step_28 : 0 ≤ (beta * eta * p + beta * eta * q - y_sum : ℝ)) :
    0 ≤ (beta * eta * (p + q) - y : ℝ) := by
  have same : (beta * eta * (p + q) - y : ℝ) = (1) * (beta * eta * p + beta * eta * q - y_sum : ℝ) + (1) * (-y + y_sum : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_28) (le_of_eq (by rw [step_24]; ring)))

/-- `noise`, rule: hypothesis; E|zeta_k|^2 <= sigma_l^2 -/
def step_32 (dot_zeta_zeta sigma_l : ℝ) : Prop :=
    0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ)

/-- `noise is unbiased`, rule: unbiased -/
def step_33 (dot_Q_k_zeta : ℝ) : Prop :=
    (dot_Q_k_zeta : ℝ) = 0

/-- `Q grows`, rule: combination of step_17, step_18, step_32, step_33 -/
theorem step_34
    {dot_Q_k_Q_k dot_Q_k_zeta dot_zeta_zeta q q_next sigma_l : ℝ}
    (sign_q : 0 ≤ q)
    (sign_q_next : 0 ≤ q_next)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_17 : (-dot_Q_k_Q_k + q ^ 2 : ℝ) = 0)
    (step_18 : (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) = 0)
    (step_32 : 0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ))
    (step_33 : (dot_Q_k_zeta : ℝ) = 0) :
    0 ≤ (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) := by
  have same : (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) = (1) * (-dot_Q_k_Q_k + q ^ 2 : ℝ) + (-1) * (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) + (1) * (-dot_zeta_zeta + sigma_l ^ 2 : ℝ) + (-2) * (dot_Q_k_zeta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (le_of_eq (by rw [step_17]; ring)) (le_of_eq (by rw [step_18]; ring))) (mul_nonneg (by positivity) step_32)) (le_of_eq (by rw [step_33]; ring)))

/-- `distance of q from c`, rule: scalar square -/
theorem step_35
    {c q : ℝ}
    (sign_q : 0 ≤ q) :
    0 ≤ ((-c + q) ^ 2 : ℝ) := by
  have same : ((-c + q) ^ 2 : ℝ) = (-c + q : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `p after k`, rule: loop of step_29, step_30, step_31, step_34, step_35 -/
theorem step_36
    {L beta c eta g rho sigma_l : ℝ}
    {C SP SQ Y k p p_next q q_next v v_next y : ℕ → ℝ}
    (sign_C : ∀ j, 0 ≤ C j)
    (sign_L : 0 < L)
    (sign_SP : ∀ j, 0 ≤ SP j)
    (sign_SQ : ∀ j, 0 ≤ SQ j)
    (sign_Y : ∀ j, 0 ≤ Y j)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_g : 0 ≤ g)
    (sign_k : ∀ j, 0 ≤ k j)
    (sign_p : ∀ j, 0 ≤ p j)
    (sign_p_next : ∀ j, 0 ≤ p_next j)
    (sign_q : ∀ j, 0 ≤ q j)
    (sign_q_next : ∀ j, 0 ≤ q_next j)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_v : ∀ j, 0 ≤ v j)
    (sign_v_next : ∀ j, 0 ≤ v_next j)
    (sign_y : ∀ j, 0 ≤ y j)
    (start_k : k 0 = (0 : ℝ))
    (turn_k : ∀ j, k (j + 1) = ((k j) + 1 : ℝ))
    (start_Y : Y 0 = (0 : ℝ))
    (turn_Y : ∀ j, Y (j + 1) = ((Y j) + (y j) : ℝ))
    (start_SP : SP 0 = (0 : ℝ))
    (turn_SP : ∀ j, SP (j + 1) = ((SP j) + (p j) : ℝ))
    (start_SQ : SQ 0 = (0 : ℝ))
    (turn_SQ : ∀ j, SQ (j + 1) = ((SQ j) + (q j) ^ 2 : ℝ))
    (start_C : C 0 = (0 : ℝ))
    (turn_C : ∀ j, C (j + 1) = ((C j) + (q j) : ℝ))
    (start_p : p 0 = (0 : ℝ))
    (turn_p : ∀ j, p (j + 1) = ((p_next j) : ℝ))
    (start_q : q 0 = (0 : ℝ))
    (turn_q : ∀ j, q (j + 1) = ((q_next j) : ℝ))
    (start_v : v 0 = (0 : ℝ))
    (turn_v : ∀ j, v (j + 1) = ((v_next j) : ℝ))
    (step_29 : ∀ j, 0 ≤ (L * rho + L * (y j) + g + (p j) - (p_next j) : ℝ))
    (step_30 : ∀ j, 0 ≤ (L * rho + L * (y j) + (v j) - (v_next j) : ℝ))
    (step_31 : ∀ j, 0 ≤ (beta * eta * ((p j) + (q j)) - (y j) : ℝ))
    (step_34 : ∀ j, 0 ≤ ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ))
    (step_35 : ∀ j, 0 ≤ ((-c + (q j)) ^ 2 : ℝ)) :
    ∀ j, 0 ≤ (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) ∧ 0 ≤ (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) ∧ 0 ≤ (-(Y j) + beta * eta * ((C j) + (SP j)) : ℝ) ∧ 0 ≤ ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) ∧ 0 ≤ (-(SQ j) + (k j) * sigma_l ^ 2 * ((k j) - 1) / 2 : ℝ) ∧ 0 ≤ ((-2) * (C j) * c + (SQ j) + c ^ 2 * (k j) : ℝ) ∧ 0 ≤ (L * (Y j) + L * (k j) * rho - (v j) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity, by rw [start_k, start_Y, start_SP, start_SQ, start_C, start_p, start_q, start_v]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1, kept_2, kept_3, kept_4, kept_5, kept_6, kept_7⟩ := previous
    refine ⟨?_, ?_, ?_, ?_, ?_, ?_, ?_⟩
    · have same : (L * (Y (j + 1)) + (k (j + 1)) * (L * rho + g) - (p (j + 1)) : ℝ) = (1) * (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) + (1) * (L * rho + L * (y j) + g + (p j) - (p_next j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_29 j)))
    · have same : (L * (Y (j + 1)) * ((k (j + 1)) - 1) - (SP (j + 1)) + (k (j + 1)) * ((k (j + 1)) - 1) * (L * rho + g) / 2 : ℝ) = (1) * (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) + (1) * (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) + (L * (k j) * (y j)) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) kept_2) (mul_nonneg (by positivity) kept_1)) (by positivity))
    · have same : (-(Y (j + 1)) + beta * eta * ((C (j + 1)) + (SP (j + 1))) : ℝ) = (1) * (-(Y j) + beta * eta * ((C j) + (SP j)) : ℝ) + (1) * (beta * eta * ((p j) + (q j)) - (y j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_3) (mul_nonneg (by positivity) (step_31 j)))
    · have same : ((k (j + 1)) * sigma_l ^ 2 - (q (j + 1)) ^ 2 : ℝ) = (1) * ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) + (1) * ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_4) (mul_nonneg (by positivity) (step_34 j)))
    · have same : (-(SQ (j + 1)) + (k (j + 1)) * sigma_l ^ 2 * ((k (j + 1)) - 1) / 2 : ℝ) = (1) * (-(SQ j) + (k j) * sigma_l ^ 2 * ((k j) - 1) / 2 : ℝ) + (1) * ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_5) (mul_nonneg (by positivity) kept_4))
    · have same : ((-2) * (C (j + 1)) * c + (SQ (j + 1)) + c ^ 2 * (k (j + 1)) : ℝ) = (1) * ((-2) * (C j) * c + (SQ j) + c ^ 2 * (k j) : ℝ) + (1) * ((-c + (q j)) ^ 2 : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_6) (mul_nonneg (by positivity) (step_35 j)))
    · have same : (L * (Y (j + 1)) + L * (k (j + 1)) * rho - (v (j + 1)) : ℝ) = (1) * (L * (Y j) + L * (k j) * rho - (v j) : ℝ) + (1) * (L * rho + L * (y j) + (v j) - (v_next j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_7) (mul_nonneg (by positivity) (step_30 j)))

-- `sum of p` is an invariant of the loop `local steps` above

-- `sum of y` is an invariant of the loop `local steps` above

-- `q after k` is an invariant of the loop `local steps` above

-- `sum of q^2` is an invariant of the loop `local steps` above

-- `q near c` is an invariant of the loop `local steps` above

-- `R after k` is an invariant of the loop `local steps` above

/-- `p after k, k = K`, rule: instance of step_36 -/
theorem step_43
    {K L Y g k p rho : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_p : 0 ≤ p)
    (sign_rho : 0 ≤ rho)
    (step_36 : 0 ≤ (L * Y + k * (L * rho + g) - p : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * (L * rho + g) + L * Y - p : ℝ) := by
  have same : (K * (L * rho + g) + L * Y - p : ℝ) = (L * Y + k * (L * rho + g) - p : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_36

/-- `sum of p, k = K`, rule: instance of step_37 -/
theorem step_44
    {K L SP Y g k rho : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_rho : 0 ≤ rho)
    (step_37 : 0 ≤ (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) := by
  have same : (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) = (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_37

/-- `sum of y, k = K`, rule: instance of step_38 -/
theorem step_45
    {C K SP Y beta eta k : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_k : 0 ≤ k)
    (step_38 : 0 ≤ (-Y + beta * eta * (C + SP) : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (-Y + beta * eta * (C + SP) : ℝ) := by
  have same : (-Y + beta * eta * (C + SP) : ℝ) = (-Y + beta * eta * (C + SP) : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_38

/-- `q after k, k = K`, rule: instance of step_39 -/
theorem step_46
    {K k q sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_k : 0 ≤ k)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_39 : 0 ≤ (k * sigma_l ^ 2 - q ^ 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * sigma_l ^ 2 - q ^ 2 : ℝ) := by
  have same : (K * sigma_l ^ 2 - q ^ 2 : ℝ) = (k * sigma_l ^ 2 - q ^ 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_39

/-- `sum of q^2, k = K`, rule: instance of step_40 -/
theorem step_47
    {K SQ k sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_40 : 0 ≤ (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) := by
  have same : (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) = (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_40

/-- `q near c, k = K`, rule: instance of step_41 -/
theorem step_48
    {C K SQ c k : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (step_41 : 0 ≤ ((-2) * C * c + SQ + c ^ 2 * k : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ ((-2) * C * c + K * c ^ 2 + SQ : ℝ) := by
  have same : ((-2) * C * c + K * c ^ 2 + SQ : ℝ) = ((-2) * C * c + SQ + c ^ 2 * k : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_41

/-- `R after k, k = K`, rule: instance of step_42 -/
theorem step_49
    {K L Y k rho v : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_k : 0 ≤ k)
    (sign_rho : 0 ≤ rho)
    (sign_v : 0 ≤ v)
    (step_42 : 0 ≤ (L * Y + L * k * rho - v : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * L * rho + L * Y - v : ℝ) := by
  have same : (K * L * rho + L * Y - v : ℝ) = (L * Y + L * k * rho - v : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_42

/-- `norm size_r`, rule: norm -/
theorem step_50
    {size_r : ℝ}
    (sign_size_r : 0 ≤ size_r)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {r : E}
    (named : size_r = ‖(1 : ℝ) • r‖) :
    (-(⟪r, r⟫_ℝ) + size_r ^ 2 : ℝ) = 0 := by
  have same : (-(⟪r, r⟫_ℝ) + size_r ^ 2 : ℝ) = size_r ^ 2 - ⟪(1 : ℝ) • r, (1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `P`, rule: definition -/
theorem step_51
    {K L P Y : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (named : P = (L * Y / K : ℝ)) :
    (P - L * Y / K : ℝ) = 0 := by
  rw [named]
  ring

/-- `tau is the mean of q`, rule: definition -/
theorem step_52
    {C K L beta eta tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_tau : 0 ≤ tau)
    (named : tau = (C * L * beta * eta / K : ℝ)) :
    ((-C) * L * beta * eta / K + tau : ℝ) = 0 := by
  rw [named]
  ring

/-- `r is a mean`, rule: hypothesis; r = R_K/K, one vector under two names -/
def step_53 (K size_r v : ℝ) : Prop :=
    (size_r - v / K : ℝ) = 0

/-- `z is a mean`, rule: hypothesis; z = Q_K/K, one vector, two names -/
def step_54 (K dot_z_z q : ℝ) : Prop :=
    (dot_z_z - q ^ 2 / K ^ 2 : ℝ) = 0

/-- `X`, rule: hypothesis; X names (K - 1) L eta -/
def step_55 (K L Y beta eta : ℝ) : Prop :=
    ((-L) * beta * eta * (K - 1) + Y * beta : ℝ) = 0

/-- `size of r`, rule: combination of step_49, step_51, step_53 -/
theorem step_56
    {K L P Y rho size_r v : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_rho : 0 ≤ rho)
    (sign_size_r : 0 ≤ size_r)
    (sign_v : 0 ≤ v)
    (step_49 : 0 ≤ (K * L * rho + L * Y - v : ℝ))
    (step_51 : (P - L * Y / K : ℝ) = 0)
    (step_53 : (size_r - v / K : ℝ) = 0) :
    0 ≤ (L * rho + P - size_r : ℝ) := by
  have same : (L * rho + P - size_r : ℝ) = (1 / K) * (K * L * rho + L * Y - v : ℝ) + (1) * (P - L * Y / K : ℝ) + (-1) * (size_r - v / K : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_49) (le_of_eq (by rw [step_51]; ring))) (le_of_eq (by rw [step_53]; ring)))

/-- `drift`, rule: combination of step_44, step_45, step_51, step_52, step_55 -/
theorem step_57
    {C K L P SP Y beta eta g rho tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau)
    (step_44 : 0 ≤ (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ))
    (step_45 : 0 ≤ (-Y + beta * eta * (C + SP) : ℝ))
    (step_51 : (P - L * Y / K : ℝ) = 0)
    (step_52 : ((-C) * L * beta * eta / K + tau : ℝ) = 0)
    (step_55 : ((-L) * beta * eta * (K - 1) + Y * beta : ℝ) = 0) :
    0 ≤ ((-P) * ((-Y) * beta + 1) + Y * beta * (L * rho + g) / 2 + tau : ℝ) := by
  have same : ((-P) * ((-Y) * beta + 1) + Y * beta * (L * rho + g) / 2 + tau : ℝ) = (L / K) * (-Y + beta * eta * (C + SP) : ℝ) + (L * beta * eta / K) * (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) + (1) * ((-C) * L * beta * eta / K + tau : ℝ) + (Y * beta - 1) * (P - L * Y / K : ℝ) + (L * rho / 2 + g / 2 + L * Y / K) * ((-L) * beta * eta * (K - 1) + Y * beta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_45) (mul_nonneg (by positivity) step_44)) (le_of_eq (by rw [step_52]; ring))) (le_of_eq (by rw [step_51]; ring))) (le_of_eq (by rw [step_55]; ring)))

/-- `size of z`, rule: combination of step_46, step_54 -/
theorem step_58
    {K dot_z_z q sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_46 : 0 ≤ (K * sigma_l ^ 2 - q ^ 2 : ℝ))
    (step_54 : (dot_z_z - q ^ 2 / K ^ 2 : ℝ) = 0) :
    0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ) := by
  have same : (-dot_z_z + sigma_l ^ 2 / K : ℝ) = ((K ^ 2)⁻¹) * (K * sigma_l ^ 2 - q ^ 2 : ℝ) + (-1) * (dot_z_z - q ^ 2 / K ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_46) (le_of_eq (by rw [step_54]; ring)))

/-- `Cauchy`, rule: instance of step_48 -/
theorem step_59
    {C K SQ c : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (step_48 : 0 ≤ ((-2) * C * c + K * c ^ 2 + SQ : ℝ))
    (at_c : c = (C / K : ℝ)) :
    0 ≤ ((-C ^ 2) / K + SQ : ℝ) := by
  have same : ((-C ^ 2) / K + SQ : ℝ) = ((-2) * C * c + K * c ^ 2 + SQ : ℝ) := by
    rw [at_c]
    field_simp
    ring
  rw [same]
  exact step_48

/-- `square of tau`, rule: combination of step_52, step_59 -/
theorem step_60
    {C K L SQ beta eta tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_tau : 0 ≤ tau)
    (step_52 : ((-C) * L * beta * eta / K + tau : ℝ) = 0)
    (step_59 : 0 ≤ ((-C ^ 2) / K + SQ : ℝ)) :
    0 ≤ (C ^ 2 * L ^ 2 * beta ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * beta ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) := by
  have same : (C ^ 2 * L ^ 2 * beta ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * beta ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) = (L ^ 2 * beta ^ 2 * eta ^ 2 / K) * ((-C ^ 2) / K + SQ : ℝ) + ((-C) * L * beta * eta / K - tau) * ((-C) * L * beta * eta / K + tau : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_59) (le_of_eq (by rw [step_52]; ring)))

/-- `tau`, rule: combination of step_47, step_55, step_60 -/
theorem step_61
    {C K L SQ Y beta eta sigma_l tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_tau : 0 ≤ tau)
    (step_47 : 0 ≤ (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ))
    (step_55 : ((-L) * beta * eta * (K - 1) + Y * beta : ℝ) = 0)
    (step_60 : 0 ≤ (C ^ 2 * L ^ 2 * beta ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * beta ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ)) :
    0 ≤ (L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) := by
  have same : (L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) = (1) * (C ^ 2 * L ^ 2 * beta ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * beta ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) + (L ^ 2 * beta ^ 2 * eta ^ 2 / K) * (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) + (L * beta * eta * sigma_l ^ 2 / 2) * ((-L) * beta * eta * (K - 1) + Y * beta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_60) (mul_nonneg (by positivity) step_47)) (le_of_eq (by rw [step_55]; ring)))

/-- `heterogeneity`, rule: hypothesis; mean |grad F_i - grad F|^2 <= sigma_g^2 -/
def step_62 (dot_b_b sigma_g : ℝ) : Prop :=
    0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ)

/-- `b has mean zero, against G`, rule: mean over clients -/
def step_63 (dot_G_b : ℝ) : Prop :=
    (dot_G_b : ℝ) = 0

/-- `b has mean zero, against V`, rule: mean over clients -/
def step_64 (dot_V_b : ℝ) : Prop :=
    (dot_V_b : ℝ) = 0

/-- `convexity in the slope`, rule: square -/
theorem step_65
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G V : E} :
    0 ≤ ((⟪G, G⟫_ℝ) - 2 * (⟪G, V⟫_ℝ) + (⟪V, V⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) - 2 * (⟪G, V⟫_ℝ) + (⟪V, V⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G + (-1 : ℝ) • V, (1 : ℝ) • G + (-1 : ℝ) • V⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G V]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `bound on P`, rule: combination of step_57, step_6 -/
theorem step_66
    {L P Y beta g rho tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau)
    (step_6 : 0 ≤ ((-Y) * beta + 1 / 10 : ℝ))
    (step_57 : 0 ≤ ((-P) * ((-Y) * beta + 1) + Y * beta * (L * rho + g) / 2 + tau : ℝ)) :
    0 ≤ (-P + 5 * Y * beta * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) := by
  have same : (-P + 5 * Y * beta * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) = (10 / 9) * ((-P) * ((-Y) * beta + 1) + Y * beta * (L * rho + g) / 2 + tau : ℝ) + (10 * P / 9) * ((-Y) * beta + 1 / 10 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_57) (mul_nonneg (by positivity) step_6))

/-- `g against L rho`, rule: scalar square -/
theorem step_67
    {L g rho : ℝ}
    (sign_L : 0 < L)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho) :
    0 ≤ (((-L) * rho + g) ^ 2 : ℝ) := by
  have same : (((-L) * rho + g) ^ 2 : ℝ) = ((-L) * rho + g : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `Young in the drift`, rule: scalar square -/
theorem step_68
    {L Y beta g rho tau : ℝ}
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau) :
    0 ≤ ((Y * beta * (L * rho + g) / 4 - tau) ^ 2 : ℝ) := by
  have same : ((Y * beta * (L * rho + g) / 4 - tau) ^ 2 : ℝ) = (Y * beta * (L * rho + g) / 4 - tau : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `P^2`, rule: combination of step_1, step_14, step_61, step_62, step_63, step_64, step_65, step_66, step_67, step_68 -/
theorem step_69
    {L P Y beta dot_G_G dot_G_V dot_G_b dot_V_V dot_V_b dot_b_b eta g rho sigma_g sigma_l tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_tau : 0 ≤ tau)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_14 : (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 - 2 * dot_G_V * (1 - beta) / beta - 2 * dot_V_b * (1 - beta) / beta - dot_V_V * (1 - beta) ^ 2 / beta ^ 2 : ℝ) = 0)
    (step_61 : 0 ≤ (L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ))
    (step_62 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_63 : (dot_G_b : ℝ) = 0)
    (step_64 : (dot_V_b : ℝ) = 0)
    (step_65 : 0 ≤ (dot_G_G - 2 * dot_G_V + dot_V_V : ℝ))
    (step_66 : 0 ≤ (-P + 5 * Y * beta * (L * rho + g) / 9 + 10 * tau / 9 : ℝ))
    (step_67 : 0 ≤ (((-L) * rho + g) ^ 2 : ℝ))
    (step_68 : 0 ≤ ((Y * beta * (L * rho + g) / 4 - tau) ^ 2 : ℝ)) :
    0 ≤ (50 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 : ℝ) := by
  have same : (50 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 : ℝ) = (P + 5 * Y * beta * (L * rho + g) / 9 + 10 * tau / 9) * (-P + 5 * Y * beta * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) + (25 * Y ^ 2 * beta ^ 2 / 54) * (((-L) * rho + g) ^ 2 : ℝ) + (25 * Y ^ 2 * beta ^ 2 / 27) * (-dot_b_b + sigma_g ^ 2 : ℝ) + ((-25) * Y ^ 2 * beta ^ 2 / 27) * (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 - 2 * dot_G_V * (1 - beta) / beta - 2 * dot_V_b * (1 - beta) / beta - dot_V_V * (1 - beta) ^ 2 / beta ^ 2 : ℝ) + ((-50) * Y ^ 2 * beta ^ 2 / 27) * (dot_G_b : ℝ) + (25 * Y ^ 2 * beta * (2 * beta - 2) / 27) * (dot_V_b : ℝ) + (25 * Y ^ 2 * beta / 27) * (dot_G_G - 2 * dot_G_V + dot_V_V : ℝ) * (1 - beta : ℝ) + (200 / 81) * ((Y * beta * (L * rho + g) / 4 - tau) ^ 2 : ℝ) + (100 / 27) * (L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_66) (mul_nonneg (by positivity) step_67)) (mul_nonneg (by positivity) step_62)) (le_of_eq (by rw [step_14]; ring))) (le_of_eq (by rw [step_63]; ring))) (le_of_eq (by rw [step_64]; ring))) (mul_nonneg (mul_nonneg (by positivity) step_65) step_1)) (mul_nonneg (by positivity) step_68)) (mul_nonneg (by positivity) step_61))

/-- `Young in r`, rule: scalar square -/
theorem step_70
    {L P rho : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_rho : 0 ≤ rho) :
    0 ≤ (((-L) * rho + P) ^ 2 : ℝ) := by
  have same : (((-L) * rho + P) ^ 2 : ℝ) = ((-L) * rho + P : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `|r|^2`, rule: combination of step_50, step_56, step_69, step_70 -/
theorem step_71
    {L P Y beta dot_G_G dot_V_V dot_r_r eta rho sigma_g sigma_l size_r : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_size_r : 0 ≤ size_r)
    (step_50 : (-dot_r_r + size_r ^ 2 : ℝ) = 0)
    (step_56 : 0 ≤ (L * rho + P - size_r : ℝ))
    (step_69 : 0 ≤ (50 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 : ℝ))
    (step_70 : 0 ≤ (((-L) * rho + P) ^ 2 : ℝ)) :
    0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ) := by
  have same : (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ) = (L * rho + P + size_r) * (L * rho + P - size_r : ℝ) + (1) * (-dot_r_r + size_r ^ 2 : ℝ) + (1) * (((-L) * rho + P) ^ 2 : ℝ) + (2) * (50 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_56) (le_of_eq (by rw [step_50]; ring))) (mul_nonneg (by positivity) step_70)) (mul_nonneg (by positivity) step_69))

/-- `m is the mean of r`, rule: mean over clients -/
def step_72 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_73
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|m|^2`, rule: combination of step_72, step_73 -/
theorem step_74
    {dot_m_m dot_m_r dot_r_r : ℝ}
    (step_72 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_73 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ)) :
    0 ≤ (-dot_m_m + dot_r_r : ℝ) := by
  have same : (-dot_m_m + dot_r_r : ℝ) = (1) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (2) * (-dot_m_m + dot_m_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_73) (le_of_eq (by rw [step_72]; ring)))

/-- `clients are independent`, rule: independence -/
def step_75 (N dot_n_n dot_z_z : ℝ) : Prop :=
    0 ≤ (-dot_n_n + dot_z_z / N : ℝ)

/-- `|n|^2`, rule: combination of step_58, step_75 -/
theorem step_76
    {K N dot_n_n dot_z_z sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_N : 0 < N)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_58 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_75 : 0 ≤ (-dot_n_n + dot_z_z / N : ℝ)) :
    0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) := by
  have same : (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) = (1 / N) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (1) * (-dot_n_n + dot_z_z / N : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_58) (mul_nonneg (by positivity) step_75))

/-- `G against u`, rule: mean over clients -/
def step_77 (dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z : ℝ) : Prop :=
    (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0

/-- `z is unbiased`, rule: unbiased -/
def step_78 (dot_b_z : ℝ) : Prop :=
    (dot_b_z : ℝ) = 0

/-- `mean of u against G`, rule: square -/
theorem step_79
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (1 : ℝ) • n, (1 : ℝ) • m + (1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young between clients`, rule: square -/
theorem step_80
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {b r z : E} :
    0 ≤ ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) := by
  have same : ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r, (1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm b r, real_inner_comm b z, real_inner_comm r z]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `spread of the clients`, rule: combination of step_58, step_62, step_71, step_77, step_78, step_79, step_80 -/
theorem step_81
    {K L Y beta dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_V_V dot_b_b dot_b_r dot_b_z dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta rho sigma_g sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_58 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_62 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_71 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ))
    (step_77 : (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0)
    (step_78 : (dot_b_z : ℝ) = 0)
    (step_79 : 0 ≤ (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ))
    (step_80 : 0 ≤ (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ)) :
    0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 100 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) := by
  have same : (4 * L ^ 2 * rho ^ 2 + 200 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 100 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) = (1) * (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ) + (1) * (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ) + (2) * (-dot_b_b + sigma_g ^ 2 : ℝ) + (2) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (-4) * (dot_b_z : ℝ) + (2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ) + (-2) * (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_79) (mul_nonneg (by positivity) step_80)) (mul_nonneg (by positivity) step_62)) (mul_nonneg (by positivity) step_58)) (le_of_eq (by rw [step_78]; ring))) (mul_nonneg (by positivity) step_71)) (le_of_eq (by rw [step_77]; ring)))

/-- `norm back_own`, rule: norm -/
theorem step_82
    {back_own : ℝ}
    (sign_back_own : 0 ≤ back_own)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {back : E}
    (named : back_own = ‖(1 : ℝ) • back‖) :
    (back_own ^ 2 - (⟪back, back⟫_ℝ) : ℝ) = 0 := by
  have same : (back_own ^ 2 - (⟪back, back⟫_ℝ) : ℝ) = back_own ^ 2 - ⟪(1 : ℝ) • back, (1 : ℝ) • back⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm back_V`, rule: norm -/
theorem step_83
    {A back_V beta : ℝ}
    (sign_A : 0 < A)
    (sign_back_V : 0 ≤ back_V)
    (sign_beta : 0 < beta)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {V : E}
    (named : back_V = ‖((-A) * (1 - beta) / beta : ℝ) • V‖) :
    ((-A ^ 2) * (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 + back_V ^ 2 : ℝ) = 0 := by
  have same : ((-A ^ 2) * (⟪V, V⟫_ℝ) * (1 - beta) ^ 2 / beta ^ 2 + back_V ^ 2 : ℝ) = back_V ^ 2 - ⟪((-A) * (1 - beta) / beta : ℝ) • V, ((-A) * (1 - beta) / beta : ℝ) • V⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm size_C`, rule: norm -/
theorem step_84
    {size_C : ℝ}
    (sign_size_C : 0 ≤ size_C)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {C : E}
    (named : size_C = ‖(1 : ℝ) • C‖) :
    (-(⟪C, C⟫_ℝ) + size_C ^ 2 : ℝ) = 0 := by
  have same : (-(⟪C, C⟫_ℝ) + size_C ^ 2 : ℝ) = size_C ^ 2 - ⟪(1 : ℝ) • C, (1 : ℝ) • C⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `wbar`, rule: hypothesis; wbar - w, one vector under two names -/
def step_85 (back_V back_own : ℝ) : Prop :=
    (-back_V + back_own : ℝ) = 0

/-- `smooth at wbar`, rule: smooth gradient -/
def step_86 (L back_own size_C : ℝ) : Prop :=
    0 ≤ (L * back_own - size_C : ℝ)

/-- `|C|^2`, rule: combination of step_83, step_84, step_85, step_86 -/
theorem step_87
    {A L back_V back_own beta dot_C_C dot_V_V size_C : ℝ}
    (sign_A : 0 < A)
    (sign_L : 0 < L)
    (sign_back_V : 0 ≤ back_V)
    (sign_back_own : 0 ≤ back_own)
    (sign_beta : 0 < beta)
    (sign_size_C : 0 ≤ size_C)
    (step_83 : ((-A ^ 2) * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 + back_V ^ 2 : ℝ) = 0)
    (step_84 : (-dot_C_C + size_C ^ 2 : ℝ) = 0)
    (step_85 : (-back_V + back_own : ℝ) = 0)
    (step_86 : 0 ≤ (L * back_own - size_C : ℝ)) :
    0 ≤ (A ^ 2 * L ^ 2 * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 - dot_C_C : ℝ) := by
  have same : (A ^ 2 * L ^ 2 * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 - dot_C_C : ℝ) = (L * back_V + size_C) * (L * back_own - size_C : ℝ) + ((-L) * (L * back_V + size_C)) * (-back_V + back_own : ℝ) + (1) * (-dot_C_C + size_C ^ 2 : ℝ) + (-L ^ 2) * ((-A ^ 2) * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 + back_V ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_86) (le_of_eq (by rw [step_85]; ring))) (le_of_eq (by rw [step_84]; ring))) (le_of_eq (by rw [step_83]; ring)))

/-- `cohort along H`, rule: sampled mean -/
def step_88 (dot_C_G dot_C_d dot_C_m dot_C_n dot_G_G dot_G_d dot_G_m dot_G_n : ℝ) : Prop :=
    (-dot_C_G + dot_C_d - dot_C_m - dot_C_n - dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0

/-- `cohort along V`, rule: sampled mean -/
def step_89 (dot_G_V dot_V_d dot_V_m dot_V_n : ℝ) : Prop :=
    (-dot_G_V + dot_V_d - dot_V_m - dot_V_n : ℝ) = 0

/-- `cohort`, rule: sampling without replacement -/
def step_90 (dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z kappa : ℝ) : Prop :=
    (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0

/-- `n is unbiased, against H`, rule: unbiased -/
def step_91 (dot_C_n dot_G_n : ℝ) : Prop :=
    (dot_C_n + dot_G_n : ℝ) = 0

/-- `n is unbiased, against V`, rule: unbiased -/
def step_92 (dot_V_n : ℝ) : Prop :=
    (dot_V_n : ℝ) = 0

/-- `smoothness of F`, rule: smooth value -/
def step_93 (A F F_next L dot_C_d dot_G_d dot_d_d : ℝ) : Prop :=
    0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_C_d - A * dot_G_d + F - F_next : ℝ)

/-- `Young against the lag`, rule: square -/
theorem step_94
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {C G m : E} :
    0 ≤ ((⟪C, C⟫_ℝ) + (⟪C, G⟫_ℝ) + (⟪C, m⟫_ℝ) + (⟪G, G⟫_ℝ) / 4 + (⟪G, m⟫_ℝ) / 2 + (⟪m, m⟫_ℝ) / 4 : ℝ) := by
  have same : ((⟪C, C⟫_ℝ) + (⟪C, G⟫_ℝ) + (⟪C, m⟫_ℝ) + (⟪G, G⟫_ℝ) / 4 + (⟪G, m⟫_ℝ) / 2 + (⟪m, m⟫_ℝ) / 4 : ℝ) = ⟪(1 : ℝ) • C + (1 / 2 : ℝ) • G + (1 / 2 : ℝ) • m, (1 : ℝ) • C + (1 / 2 : ℝ) • G + (1 / 2 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm C G, real_inner_comm C m, real_inner_comm G m]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `convexity in the momentum`, rule: square -/
theorem step_95
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G V m : E} :
    0 ≤ ((⟪G, G⟫_ℝ) - 2 * (⟪G, V⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪V, V⟫_ℝ) - 2 * (⟪V, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) - 2 * (⟪G, V⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪V, V⟫_ℝ) - 2 * (⟪V, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • V + (-1 : ℝ) • G + (-1 : ℝ) • m, (1 : ℝ) • V + (-1 : ℝ) • G + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G V, real_inner_comm G m, real_inner_comm V m]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young against the noise`, rule: square -/
theorem step_96
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m n : E} :
    0 ≤ ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) - 2 * (⟪G, n⟫_ℝ) + (⟪m, m⟫_ℝ) - 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) - 2 * (⟪G, n⟫_ℝ) + (⟪m, m⟫_ℝ) - 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G + (1 : ℝ) • m + (-1 : ℝ) • n, (1 : ℝ) • G + (1 : ℝ) • m + (-1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m, real_inner_comm G n, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `mean direction`, rule: square -/
theorem step_97
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m : E} :
    0 ≤ ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) + 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G + (1 : ℝ) • m, (1 : ℝ) • G + (1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|V|^2`, rule: square -/
theorem step_98
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {V : E} :
    0 ≤ ((⟪V, V⟫_ℝ) : ℝ) := by
  have same : ((⟪V, V⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • V, (1 : ℝ) • V⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `one round`, rule: combination of step_1, step_11, step_7, step_71, step_74, step_76, step_81, step_87, step_88, step_89, step_90, step_91, step_92, step_93, step_94, step_95, step_96, step_97, step_98 -/
theorem step_99
    {A F F_next K L N Y beta dot_C_C dot_C_G dot_C_d dot_C_m dot_C_n dot_G_G dot_G_V dot_G_b dot_G_d dot_G_m dot_G_n dot_G_r dot_G_z dot_V_V dot_V_d dot_V_m dot_V_n dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta kappa nu rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_7 : 0 ≤ ((-A) * L - nu * (beta + 1) + 1 / 4 : ℝ))
    (step_11 : 0 ≤ ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - Y ^ 2 * (1 - beta) * (50 * kappa * (A * L + 2 * beta * nu) / 27 + 25 / 27) + nu : ℝ))
    (step_71 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ))
    (step_74 : 0 ≤ (-dot_m_m + dot_r_r : ℝ))
    (step_76 : 0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ))
    (step_81 : 0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 100 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ))
    (step_87 : 0 ≤ (A ^ 2 * L ^ 2 * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 - dot_C_C : ℝ))
    (step_88 : (-dot_C_G + dot_C_d - dot_C_m - dot_C_n - dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0)
    (step_89 : (-dot_G_V + dot_V_d - dot_V_m - dot_V_n : ℝ) = 0)
    (step_90 : (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0)
    (step_91 : (dot_C_n + dot_G_n : ℝ) = 0)
    (step_92 : (dot_V_n : ℝ) = 0)
    (step_93 : 0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_C_d - A * dot_G_d + F - F_next : ℝ))
    (step_94 : 0 ≤ (dot_C_C + dot_C_G + dot_C_m + dot_G_G / 4 + dot_G_m / 2 + dot_m_m / 4 : ℝ))
    (step_95 : 0 ≤ (dot_G_G - 2 * dot_G_V + 2 * dot_G_m + dot_V_V - 2 * dot_V_m + dot_m_m : ℝ))
    (step_96 : 0 ≤ (dot_G_G + 2 * dot_G_m - 2 * dot_G_n + dot_m_m - 2 * dot_m_n + dot_n_n : ℝ))
    (step_97 : 0 ≤ (dot_G_G + 2 * dot_G_m + dot_m_m : ℝ))
    (step_98 : 0 ≤ (dot_V_V : ℝ)) :
    0 ≤ ((-A) * ((-L ^ 2) * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) - L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) - Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) - sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N)) / 2 + A * nu * ((-beta ^ 2) * dot_d_d - 2 * beta * dot_V_d * (1 - beta) - dot_V_V * (1 - beta) ^ 2 + dot_V_V) / beta + F - F_next : ℝ) := by
  have same : ((-A) * ((-L ^ 2) * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) - L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) - Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) - sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N)) / 2 + A * nu * ((-beta ^ 2) * dot_d_d - 2 * beta * dot_V_d * (1 - beta) - dot_V_V * (1 - beta) ^ 2 + dot_V_V) / beta + F - F_next : ℝ) = (1) * (A ^ 2 * L * dot_d_d / 2 - A * dot_C_d - A * dot_G_d + F - F_next : ℝ) + (A) * (-dot_C_G + dot_C_d - dot_C_m - dot_C_n - dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) + (A) * (dot_C_n + dot_G_n : ℝ) + ((-2) * A * nu * (1 - beta)) * (-dot_G_V + dot_V_d - dot_V_m - dot_V_n : ℝ) + ((-2) * A * nu * (1 - beta)) * (dot_V_n : ℝ) + ((-A) * (A * L / 2 + beta * nu)) * (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) + (A * kappa * (A * L / 2 + beta * nu)) * (4 * L ^ 2 * rho ^ 2 + 200 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 100 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) + (A) * (dot_C_C + dot_C_G + dot_C_m + dot_G_G / 4 + dot_G_m / 2 + dot_m_m / 4 : ℝ) + (A) * (A ^ 2 * L ^ 2 * dot_V_V * (1 - beta) ^ 2 / beta ^ 2 - dot_C_C : ℝ) + (A * nu) * (dot_G_G - 2 * dot_G_V + 2 * dot_G_m + dot_V_V - 2 * dot_V_m + dot_m_m : ℝ) * (1 - beta : ℝ) + (A * (A * L / 2 + beta * nu)) * (dot_G_G + 2 * dot_G_m - 2 * dot_G_n + dot_m_m - 2 * dot_m_n + dot_n_n : ℝ) + (2 * A * (A * L / 2 + beta * nu)) * (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) + (A) * (dot_G_G + 2 * dot_G_m + dot_m_m : ℝ) * ((-A) * L - nu * (beta + 1) + 1 / 4 : ℝ) + (A / 2) * (-dot_m_m + dot_r_r : ℝ) + (A / 2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27 + 50 * Y ^ 2 * beta ^ 2 * (L ^ 2 * rho ^ 2 + sigma_g ^ 2 + (beta * dot_G_G + dot_V_V * (1 - beta)) / beta ^ 2) / 27 - dot_r_r : ℝ) + (A) * (dot_V_V : ℝ) * ((-A ^ 2) * L ^ 2 * (1 - beta) ^ 2 / beta ^ 2 - Y ^ 2 * (1 - beta) * (50 * kappa * (A * L + 2 * beta * nu) / 27 + 25 / 27) + nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_93) (le_of_eq (by rw [step_88]; ring))) (le_of_eq (by rw [step_91]; ring))) (le_of_eq (by rw [step_89]; ring))) (le_of_eq (by rw [step_92]; ring))) (le_of_eq (by rw [step_90]; ring))) (mul_nonneg (by positivity) step_81)) (mul_nonneg (by positivity) step_94)) (mul_nonneg (by positivity) step_87)) (mul_nonneg (mul_nonneg (by positivity) step_95) step_1)) (mul_nonneg (by positivity) step_96)) (mul_nonneg (by positivity) step_76)) (mul_nonneg (mul_nonneg (by positivity) step_97) step_7)) (mul_nonneg (by positivity) step_74)) (mul_nonneg (by positivity) step_71)) (mul_nonneg (mul_nonneg (by positivity) step_98) step_11))

/-- `after t rounds`, rule: loop of step_99 -/
theorem step_100
    {A F_0 K L N Y beta eta kappa nu rho sigma_g sigma_l : ℝ}
    {F F_next G_sum dot_G_G dot_V_V dot_V_d dot_d_d t : ℕ → ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : ∀ j, 0 ≤ t j)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_F : F 0 = (F_0 : ℝ))
    (turn_F : ∀ j, F (j + 1) = ((F_next j) : ℝ))
    (start_dot_V_V : dot_V_V 0 = (0 : ℝ))
    (turn_dot_V_V : ∀ j, dot_V_V (j + 1) = (beta ^ 2 * (dot_d_d j) + 2 * beta * (dot_V_d j) * (1 - beta) + (dot_V_V j) * (1 - beta) ^ 2 : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((G_sum j) + (dot_G_G j) : ℝ))
    (step_99 : ∀ j, 0 ≤ ((-A) * ((-L ^ 2) * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) - L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) - Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + (dot_G_G j) * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) - sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N)) / 2 + A * nu * ((-beta ^ 2) * (dot_d_d j) - 2 * beta * (dot_V_d j) * (1 - beta) - (dot_V_V j) * (1 - beta) ^ 2 + (dot_V_V j)) / beta + (F j) - (F_next j) : ℝ)) :
    ∀ j, 0 ≤ ((-A) * ((G_sum j) * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - (t j) * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * (dot_V_V j) * nu / beta - (F j) + F_0 : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_F, start_dot_V_V, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((-A) * ((G_sum (j + 1)) * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - (t (j + 1)) * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * (dot_V_V (j + 1)) * nu / beta - (F (j + 1)) + F_0 : ℝ) = (1) * ((-A) * ((G_sum j) * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - (t j) * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * (dot_V_V j) * nu / beta - (F j) + F_0 : ℝ) + (1) * ((-A) * ((-L ^ 2) * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) - L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) - Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + (dot_G_G j) * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) - sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N)) / 2 + A * nu * ((-beta ^ 2) * (dot_d_d j) - 2 * beta * (dot_V_d j) * (1 - beta) - (dot_V_V j) * (1 - beta) ^ 2 + (dot_V_V j)) / beta + (F j) - (F_next j) : ℝ) := by
        rw [turn_t, turn_F, turn_dot_V_V, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_99 j)))

/-- `after T rounds`, rule: instance of step_100 -/
theorem step_101
    {A F F_0 G_sum K L N T Y beta dot_V_V eta kappa nu rho sigma_g sigma_l t : ℝ}
    (sign_A : 0 < A)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_100 : 0 ≤ ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - t * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - T * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ) := by
  have same : ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - T * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ) = ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - t * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_100

/-- `F is bounded below`, rule: hypothesis; F(wbar^T) >= F^* -/
def step_102 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean over the rounds -/
def step_103 (G_sum Gamma T : ℝ) : Prop :=
    ((-G_sum) / T + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names F(w^0) - F^*; m^0 = 0, so wbar^0 = w^0 -/
def step_104 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_101, step_102, step_103, step_104, step_98 -/
theorem step_105
    {A Delta F F_0 F_star G_sum Gamma K L N T Y beta dot_V_V eta kappa nu rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_98 : 0 ≤ (dot_V_V : ℝ))
    (step_101 : 0 ≤ ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - T * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ))
    (step_102 : 0 ≤ (F - F_star : ℝ))
    (step_103 : ((-G_sum) / T + Gamma : ℝ) = 0)
    (step_104 : (Delta - F_0 + F_star : ℝ) = 0) :
    0 ≤ ((-Gamma) * ((-Y ^ 2) * beta * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N) + 2 * Delta / (A * T) : ℝ) := by
  have same : ((-Gamma) * ((-Y ^ 2) * beta * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N) + 2 * Delta / (A * T) : ℝ) = (2 / (A * T)) * ((-A) * (G_sum * ((-100) * A * L * Y ^ 2 * beta * kappa / 27 - 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 - 50 * Y ^ 2 * beta / 27 + 1) - T * (L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N))) / 2 - A * dot_V_V * nu / beta - F + F_0 : ℝ) + (2 / (A * T)) * (F - F_star : ℝ) + (2 / (A * T)) * (Delta - F_0 + F_star : ℝ) + (2 * nu / (T * beta)) * (dot_V_V : ℝ) + (100 * A * L * Y ^ 2 * beta * kappa / 27 + 200 * Y ^ 2 * beta ^ 2 * kappa * nu / 27 + 50 * Y ^ 2 * beta / 27 - 1) * ((-G_sum) / T + Gamma : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_101) (mul_nonneg (by positivity) step_102)) (le_of_eq (by rw [step_104]; ring))) (mul_nonneg (by positivity) step_98)) (le_of_eq (by rw [step_103]; ring)))

/-- `corollary`, rule: combination of step_1, step_105, step_3, step_8, step_9 -/
theorem step_106
    {A Delta Gamma K L N T Y beta eta kappa nu rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_nu : 0 ≤ nu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_1 : 0 ≤ (1 - beta : ℝ))
    (step_3 : 0 ≤ (1 / 10 - Y : ℝ))
    (step_8 : 0 ≤ (A * L * ((1 - beta) ^ 2 + 2) - 2 * A * L + 50 * Y ^ 2 * beta * (1 - beta) / 9 - 4 * beta * nu : ℝ))
    (step_9 : 0 ≤ ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ))
    (step_105 : 0 ≤ ((-Gamma) * ((-Y ^ 2) * beta * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N) + 2 * Delta / (A * T) : ℝ)) :
    0 ≤ ((-Gamma) * (53 / 54 - kappa / 108) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) + 2 * Delta / (A * T) : ℝ) := by
  have same : ((-Gamma) * (53 / 54 - kappa / 108) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) + 2 * Delta / (A * T) : ℝ) = (1) * ((-Gamma) * ((-Y ^ 2) * beta * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 1) + L ^ 2 * rho ^ 2 * (Y ^ 2 * beta ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 4 * kappa * (A * L + 2 * beta * nu) + 2) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (200 * kappa * (A * L + 2 * beta * nu) / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (100 * kappa * (A * L + 2 * beta * nu) / 27 + 50 / 27) + 2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L + 2 * beta * nu) + sigma_l ^ 2 * (2 * A * L + 4 * beta * nu) / (K * N) + 2 * Delta / (A * T) : ℝ) + ((Gamma + L ^ 2 * rho ^ 2) * (25 * Y / 18 + 5 / 36) * (2 * kappa / 3 + 4 / 3)) * (1 / 10 - Y : ℝ) + (Y ^ 2 * (Gamma + L ^ 2 * rho ^ 2 * (beta + 1)) * (25 * kappa / 27 + 50 / 27)) * (1 - beta : ℝ) + (50 * Y ^ 2 * beta * kappa * (Gamma + L ^ 2 * beta * rho ^ 2 + beta * sigma_g ^ 2) / 27 + kappa * (2 * L ^ 2 * rho ^ 2 + 100 * L * Y * beta ^ 2 * eta * sigma_l ^ 2 / 27)) * ((-2) * A * L - 4 * beta * nu + 1 / 2 : ℝ) + (kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) + sigma_l ^ 2 / (K * N)) * (A * L * ((1 - beta) ^ 2 + 2) - 2 * A * L + 50 * Y ^ 2 * beta * (1 - beta) / 9 - 4 * beta * nu : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_105) (mul_nonneg (by positivity) step_3)) (mul_nonneg (by positivity) step_1)) (mul_nonneg (by positivity) step_9)) (mul_nonneg (by positivity) step_8))

/-- The statement of `mofedsam`, of step_106 -/
theorem conclusion
    {A Delta Gamma K L N T Y beta eta kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_106 : 0 ≤ ((-Gamma) * (53 / 54 - kappa / 108) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) + 2 * Delta / (A * T) : ℝ)) :
    (Gamma * (53 / 54 - kappa / 108) : ℝ) ≤ (2 * Delta / (A * T) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) : ℝ) := by
  have same : (2 * Delta / (A * T) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) : ℝ) - (Gamma * (53 / 54 - kappa / 108) : ℝ) = ((-Gamma) * (53 / 54 - kappa / 108) + L ^ 2 * rho ^ 2 * (109 * kappa / 108 + 109 / 54) + L * Y * beta ^ 2 * eta * sigma_l ^ 2 * (50 * kappa / 27 + 100 / 27) + Y ^ 2 * beta ^ 2 * sigma_g ^ 2 * (25 * kappa / 27 + 50 / 27) + kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) + sigma_l ^ 2 * (A * L * ((1 - beta) ^ 2 + 2) + 50 * Y ^ 2 * beta * (1 - beta) / 9) / (K * N) + 2 * Delta / (A * T) : ℝ) := by
    field_simp
    ring
  linarith

end Mofedsam
