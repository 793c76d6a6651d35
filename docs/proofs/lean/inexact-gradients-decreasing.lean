import Mathlib

/-!
# FedAvg with inexact local gradients, steps and radius of each round

$\frac{\sum_{t<T}A_t\mathbb E\|\nabla F(w^t)\|^2}{\sum_tA_t} \left(\frac{53}{54} - \frac{\kappa}{54}\right)\le\frac{2 (F(w^0)-F^*)}{\sum_tA_t}+\frac{(\sum_tA_tx_t^2) \sigma_g^{2} \left(\frac{50}{27} + \frac{50 \kappa}{27}\right)}{\sum_tA_t}+\frac{(\sum_tA_t\rho_t^2) L^{2} \left(\frac{109}{54} + \frac{109 \kappa}{54}\right)}{\sum_tA_t}+\frac{2 (\sum_tA_t^2) \kappa L \left(\sigma_g^{2} + \frac{\sigma_l^{2}}{K}\right)}{\sum_tA_t}+\frac{(\sum_tA_tx_t\eta_t) L \sigma_l^{2} \left(\frac{100}{27} + \frac{100 \kappa}{27}\right)}{\sum_tA_t}+\frac{2 (\sum_tA_t^2) L \sigma_l^{2}}{\sum_tA_t K N}$

Written from `docs/proofs/inexact-gradients-decreasing.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace InexactGradientsDecreasing

/-- `L A < 1`, rule: hypothesis; step size -/
def step_1 (A L : ℝ) : Prop :=
    0 < ((-A) * L + 1 : ℝ)

/-- `L A <= 1/2`, rule: hypothesis; step size -/
def step_2 (A L : ℝ) : Prop :=
    0 ≤ ((-A) * L + 1 / 2 : ℝ)

/-- `X <= 1/10`, rule: hypothesis; local step size -/
def step_3 (X : ℝ) : Prop :=
    0 ≤ (1 / 10 - X : ℝ)

/-- `norm p`, rule: norm -/
theorem step_4
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
theorem step_5
    {p_next : ℝ}
    (sign_p_next : 0 ≤ p_next)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D G P_k b e : E}
    (named : p_next = ‖(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + (1 : ℝ) • D + (1 : ℝ) • e‖) :
    (-(⟪D, D⟫_ℝ) - 2 * (⟪D, G⟫_ℝ) - 2 * (⟪D, P_k⟫_ℝ) - 2 * (⟪D, b⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪G, G⟫_ℝ) - 2 * (⟪G, P_k⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - 2 * (⟪G, e⟫_ℝ) - (⟪P_k, P_k⟫_ℝ) - 2 * (⟪P_k, b⟫_ℝ) - 2 * (⟪P_k, e⟫_ℝ) - (⟪b, b⟫_ℝ) - 2 * (⟪b, e⟫_ℝ) - (⟪e, e⟫_ℝ) + p_next ^ 2 : ℝ) = 0 := by
  have same : (-(⟪D, D⟫_ℝ) - 2 * (⟪D, G⟫_ℝ) - 2 * (⟪D, P_k⟫_ℝ) - 2 * (⟪D, b⟫_ℝ) - 2 * (⟪D, e⟫_ℝ) - (⟪G, G⟫_ℝ) - 2 * (⟪G, P_k⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - 2 * (⟪G, e⟫_ℝ) - (⟪P_k, P_k⟫_ℝ) - 2 * (⟪P_k, b⟫_ℝ) - 2 * (⟪P_k, e⟫_ℝ) - (⟪b, b⟫_ℝ) - 2 * (⟪b, e⟫_ℝ) - (⟪e, e⟫_ℝ) + p_next ^ 2 : ℝ) = p_next ^ 2 - ⟪(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + (1 : ℝ) • D + (1 : ℝ) • e, (1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + (1 : ℝ) • D + (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm D G, real_inner_comm D P_k, real_inner_comm D b, real_inner_comm D e, real_inner_comm G P_k, real_inner_comm G b, real_inner_comm G e, real_inner_comm P_k b, real_inner_comm P_k e, real_inner_comm b e]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm g`, rule: norm -/
theorem step_6
    {g : ℝ}
    (sign_g : 0 ≤ g)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G b : E}
    (named : g = ‖(1 : ℝ) • G + (1 : ℝ) • b‖) :
    (-(⟪G, G⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - (⟪b, b⟫_ℝ) + g ^ 2 : ℝ) = 0 := by
  have same : (-(⟪G, G⟫_ℝ) - 2 * (⟪G, b⟫_ℝ) - (⟪b, b⟫_ℝ) + g ^ 2 : ℝ) = g ^ 2 - ⟪(1 : ℝ) • G + (1 : ℝ) • b, (1 : ℝ) • G + (1 : ℝ) • b⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G b]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm size_D`, rule: norm -/
theorem step_7
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
theorem step_8
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
theorem step_9
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
theorem step_10
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
theorem step_11
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
theorem step_12
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
theorem step_13
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
theorem step_14
    {eta y_sum : ℝ}
    (sign_eta : 0 < eta)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (named : y_sum = ‖(-eta : ℝ) • P_k + (-eta : ℝ) • Q_k‖) :
    ((-(⟪P_k, P_k⟫_ℝ)) * eta ^ 2 - 2 * (⟪P_k, Q_k⟫_ℝ) * eta ^ 2 - (⟪Q_k, Q_k⟫_ℝ) * eta ^ 2 + y_sum ^ 2 : ℝ) = 0 := by
  have same : ((-(⟪P_k, P_k⟫_ℝ)) * eta ^ 2 - 2 * (⟪P_k, Q_k⟫_ℝ) * eta ^ 2 - (⟪Q_k, Q_k⟫_ℝ) * eta ^ 2 + y_sum ^ 2 : ℝ) = y_sum ^ 2 - ⟪(-eta : ℝ) • P_k + (-eta : ℝ) • Q_k, (-eta : ℝ) • P_k + (-eta : ℝ) • Q_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm P_k Q_k]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `error`, rule: hypothesis; |e_k| <= L rho -/
def step_15 (L rho size_e : ℝ) : Prop :=
    0 ≤ (L * rho - size_e : ℝ)

/-- `local model`, rule: hypothesis; x_k = -eta (P_k + Q_k), one vector, two names -/
def step_16 (y y_sum : ℝ) : Prop :=
    (-y + y_sum : ℝ) = 0

/-- `smooth`, rule: smooth gradient -/
def step_17 (L size_D y : ℝ) : Prop :=
    0 ≤ (L * y - size_D : ℝ)

/-- `P_k next`, rule: triangle -/
theorem step_18
    {g p p_next size_D size_e : ℝ}
    (sign_g : 0 ≤ g)
    (sign_p : 0 ≤ p)
    (sign_p_next : 0 ≤ p_next)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D G P_k b e : E}
    (size_p_next : p_next = ‖(1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + (1 : ℝ) • D + (1 : ℝ) • e‖)
    (size_p : p = ‖(1 : ℝ) • P_k‖)
    (size_g : g = ‖(1 : ℝ) • G + (1 : ℝ) • b‖)
    (size_size_D : size_D = ‖(1 : ℝ) • D‖)
    (size_size_e : size_e = ‖(1 : ℝ) • e‖) :
    0 ≤ (g + p - p_next + size_D + size_e : ℝ) := by
  have sum : (1 : ℝ) • P_k + (1 : ℝ) • G + (1 : ℝ) • b + (1 : ℝ) • D + (1 : ℝ) • e = (1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b) + (1 : ℝ) • ((1 : ℝ) • D) + (1 : ℝ) • ((1 : ℝ) • e) := by
    module
  have rule_1 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k)) ((1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b))
  have rule_2 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b)) ((1 : ℝ) • ((1 : ℝ) • D))
  have rule_3 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • P_k) + (1 : ℝ) • ((1 : ℝ) • G + (1 : ℝ) • b) + (1 : ℝ) • ((1 : ℝ) • D)) ((1 : ℝ) • ((1 : ℝ) • e))
  have length_0 := norm_smul (1 : ℝ) ((1 : ℝ) • P_k)
  have length_1 := norm_smul (1 : ℝ) ((1 : ℝ) • G + (1 : ℝ) • b)
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
theorem step_19
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
theorem step_20
    {eta p q y_sum : ℝ}
    (sign_eta : 0 < eta)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (size_y_sum : y_sum = ‖(-eta : ℝ) • P_k + (-eta : ℝ) • Q_k‖)
    (size_p : p = ‖(1 : ℝ) • P_k‖)
    (size_q : q = ‖(1 : ℝ) • Q_k‖) :
    0 ≤ (eta * p + eta * q - y_sum : ℝ) := by
  have sum : (-eta : ℝ) • P_k + (-eta : ℝ) • Q_k = (-eta : ℝ) • ((1 : ℝ) • P_k) + (-eta : ℝ) • ((1 : ℝ) • Q_k) := by
    module
  have rule_1 := norm_add_le ((-eta : ℝ) • ((1 : ℝ) • P_k)) ((-eta : ℝ) • ((1 : ℝ) • Q_k))
  have length_0 := norm_smul (-eta : ℝ) ((1 : ℝ) • P_k)
  have length_1 := norm_smul (-eta : ℝ) ((1 : ℝ) • Q_k)
  have sign_of_0 := abs_of_nonpos (show (-eta ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  have sign_of_1 := abs_of_nonpos (show (-eta ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_y_sum, size_p, size_q]
  nlinarith

/-- `P grows`, rule: combination of step_15, step_17, step_18 -/
theorem step_21
    {L g p p_next rho size_D size_e y : ℝ}
    (sign_L : 0 < L)
    (sign_g : 0 ≤ g)
    (sign_p : 0 ≤ p)
    (sign_p_next : 0 ≤ p_next)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_y : 0 ≤ y)
    (step_15 : 0 ≤ (L * rho - size_e : ℝ))
    (step_17 : 0 ≤ (L * y - size_D : ℝ))
    (step_18 : 0 ≤ (g + p - p_next + size_D + size_e : ℝ)) :
    0 ≤ (L * rho + L * y + g + p - p_next : ℝ) := by
  have same : (L * rho + L * y + g + p - p_next : ℝ) = (1) * (g + p - p_next + size_D + size_e : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_18) (mul_nonneg (by positivity) step_17)) (mul_nonneg (by positivity) step_15))

/-- `R grows`, rule: combination of step_15, step_17, step_19 -/
theorem step_22
    {L rho size_D size_e v v_next y : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_v : 0 ≤ v)
    (sign_v_next : 0 ≤ v_next)
    (sign_y : 0 ≤ y)
    (step_15 : 0 ≤ (L * rho - size_e : ℝ))
    (step_17 : 0 ≤ (L * y - size_D : ℝ))
    (step_19 : 0 ≤ (size_D + size_e + v - v_next : ℝ)) :
    0 ≤ (L * rho + L * y + v - v_next : ℝ) := by
  have same : (L * rho + L * y + v - v_next : ℝ) = (1) * (size_D + size_e + v - v_next : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_19) (mul_nonneg (by positivity) step_17)) (mul_nonneg (by positivity) step_15))

/-- `x from P and Q`, rule: combination of step_16, step_20 -/
theorem step_23
    {eta p q y y_sum : ℝ}
    (sign_eta : 0 < eta)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_y : 0 ≤ y)
    (sign_y_sum : 0 ≤ y_sum)
    (step_16 : (-y + y_sum : ℝ) = 0)
    (step_20 : 0 ≤ (eta * p + eta * q - y_sum : ℝ)) :
    0 ≤ (eta * (p + q) - y : ℝ) := by
  have same : (eta * (p + q) - y : ℝ) = (1) * (eta * p + eta * q - y_sum : ℝ) + (1) * (-y + y_sum : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_20) (le_of_eq (by rw [step_16]; ring)))

/-- `noise`, rule: hypothesis; E|zeta_k|^2 <= sigma_l^2 -/
def step_24 (dot_zeta_zeta sigma_l : ℝ) : Prop :=
    0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ)

/-- `noise is unbiased`, rule: unbiased -/
def step_25 (dot_Q_k_zeta : ℝ) : Prop :=
    (dot_Q_k_zeta : ℝ) = 0

/-- `Q grows`, rule: combination of step_10, step_24, step_25, step_9 -/
theorem step_26
    {dot_Q_k_Q_k dot_Q_k_zeta dot_zeta_zeta q q_next sigma_l : ℝ}
    (sign_q : 0 ≤ q)
    (sign_q_next : 0 ≤ q_next)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_9 : (-dot_Q_k_Q_k + q ^ 2 : ℝ) = 0)
    (step_10 : (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) = 0)
    (step_24 : 0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ))
    (step_25 : (dot_Q_k_zeta : ℝ) = 0) :
    0 ≤ (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) := by
  have same : (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) = (1) * (-dot_Q_k_Q_k + q ^ 2 : ℝ) + (-1) * (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) + (1) * (-dot_zeta_zeta + sigma_l ^ 2 : ℝ) + (-2) * (dot_Q_k_zeta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (le_of_eq (by rw [step_9]; ring)) (le_of_eq (by rw [step_10]; ring))) (mul_nonneg (by positivity) step_24)) (le_of_eq (by rw [step_25]; ring)))

/-- `distance of q from c`, rule: scalar square -/
theorem step_27
    {c q : ℝ}
    (sign_q : 0 ≤ q) :
    0 ≤ ((-c + q) ^ 2 : ℝ) := by
  have same : ((-c + q) ^ 2 : ℝ) = (-c + q : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `p after k`, rule: loop of step_21, step_22, step_23, step_26, step_27 -/
theorem step_28
    {L c eta g rho sigma_l : ℝ}
    {C SP SQ Y k p p_next q q_next v v_next y : ℕ → ℝ}
    (sign_C : ∀ j, 0 ≤ C j)
    (sign_L : 0 < L)
    (sign_SP : ∀ j, 0 ≤ SP j)
    (sign_SQ : ∀ j, 0 ≤ SQ j)
    (sign_Y : ∀ j, 0 ≤ Y j)
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
    (step_21 : ∀ j, 0 ≤ (L * rho + L * (y j) + g + (p j) - (p_next j) : ℝ))
    (step_22 : ∀ j, 0 ≤ (L * rho + L * (y j) + (v j) - (v_next j) : ℝ))
    (step_23 : ∀ j, 0 ≤ (eta * ((p j) + (q j)) - (y j) : ℝ))
    (step_26 : ∀ j, 0 ≤ ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ))
    (step_27 : ∀ j, 0 ≤ ((-c + (q j)) ^ 2 : ℝ)) :
    ∀ j, 0 ≤ (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) ∧ 0 ≤ (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) ∧ 0 ≤ (-(Y j) + eta * ((C j) + (SP j)) : ℝ) ∧ 0 ≤ ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) ∧ 0 ≤ (-(SQ j) + (k j) * sigma_l ^ 2 * ((k j) - 1) / 2 : ℝ) ∧ 0 ≤ ((-2) * (C j) * c + (SQ j) + c ^ 2 * (k j) : ℝ) ∧ 0 ≤ (L * (Y j) + L * (k j) * rho - (v j) : ℝ) := by
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
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_21 j)))
    · have same : (L * (Y (j + 1)) * ((k (j + 1)) - 1) - (SP (j + 1)) + (k (j + 1)) * ((k (j + 1)) - 1) * (L * rho + g) / 2 : ℝ) = (1) * (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) + (1) * (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) + (L * (k j) * (y j)) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) kept_2) (mul_nonneg (by positivity) kept_1)) (by positivity))
    · have same : (-(Y (j + 1)) + eta * ((C (j + 1)) + (SP (j + 1))) : ℝ) = (1) * (-(Y j) + eta * ((C j) + (SP j)) : ℝ) + (1) * (eta * ((p j) + (q j)) - (y j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_3) (mul_nonneg (by positivity) (step_23 j)))
    · have same : ((k (j + 1)) * sigma_l ^ 2 - (q (j + 1)) ^ 2 : ℝ) = (1) * ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) + (1) * ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_4) (mul_nonneg (by positivity) (step_26 j)))
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
      exact (add_nonneg (mul_nonneg (by positivity) kept_6) (mul_nonneg (by positivity) (step_27 j)))
    · have same : (L * (Y (j + 1)) + L * (k (j + 1)) * rho - (v (j + 1)) : ℝ) = (1) * (L * (Y j) + L * (k j) * rho - (v j) : ℝ) + (1) * (L * rho + L * (y j) + (v j) - (v_next j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_7) (mul_nonneg (by positivity) (step_22 j)))

-- `sum of p` is an invariant of the loop `local steps` above

-- `sum of y` is an invariant of the loop `local steps` above

-- `q after k` is an invariant of the loop `local steps` above

-- `sum of q^2` is an invariant of the loop `local steps` above

-- `q near c` is an invariant of the loop `local steps` above

-- `R after k` is an invariant of the loop `local steps` above

/-- `p after k, k = K`, rule: instance of step_28 -/
theorem step_35
    {K L Y g k p rho : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_p : 0 ≤ p)
    (sign_rho : 0 ≤ rho)
    (step_28 : 0 ≤ (L * Y + k * (L * rho + g) - p : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * (L * rho + g) + L * Y - p : ℝ) := by
  have same : (K * (L * rho + g) + L * Y - p : ℝ) = (L * Y + k * (L * rho + g) - p : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_28

/-- `sum of p, k = K`, rule: instance of step_29 -/
theorem step_36
    {K L SP Y g k rho : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_rho : 0 ≤ rho)
    (step_29 : 0 ≤ (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) := by
  have same : (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) = (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_29

/-- `sum of y, k = K`, rule: instance of step_30 -/
theorem step_37
    {C K SP Y eta k : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_eta : 0 < eta)
    (sign_k : 0 ≤ k)
    (step_30 : 0 ≤ (-Y + eta * (C + SP) : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (-Y + eta * (C + SP) : ℝ) := by
  have same : (-Y + eta * (C + SP) : ℝ) = (-Y + eta * (C + SP) : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_30

/-- `q after k, k = K`, rule: instance of step_31 -/
theorem step_38
    {K k q sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_k : 0 ≤ k)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_31 : 0 ≤ (k * sigma_l ^ 2 - q ^ 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * sigma_l ^ 2 - q ^ 2 : ℝ) := by
  have same : (K * sigma_l ^ 2 - q ^ 2 : ℝ) = (k * sigma_l ^ 2 - q ^ 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_31

/-- `sum of q^2, k = K`, rule: instance of step_32 -/
theorem step_39
    {K SQ k sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_32 : 0 ≤ (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) := by
  have same : (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) = (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_32

/-- `q near c, k = K`, rule: instance of step_33 -/
theorem step_40
    {C K SQ c k : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (step_33 : 0 ≤ ((-2) * C * c + SQ + c ^ 2 * k : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ ((-2) * C * c + K * c ^ 2 + SQ : ℝ) := by
  have same : ((-2) * C * c + K * c ^ 2 + SQ : ℝ) = ((-2) * C * c + SQ + c ^ 2 * k : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_33

/-- `R after k, k = K`, rule: instance of step_34 -/
theorem step_41
    {K L Y k rho v : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_k : 0 ≤ k)
    (sign_rho : 0 ≤ rho)
    (sign_v : 0 ≤ v)
    (step_34 : 0 ≤ (L * Y + L * k * rho - v : ℝ))
    (at_k : k = (K : ℝ)) :
    0 ≤ (K * L * rho + L * Y - v : ℝ) := by
  have same : (K * L * rho + L * Y - v : ℝ) = (L * Y + L * k * rho - v : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_34

/-- `norm size_r`, rule: norm -/
theorem step_42
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
theorem step_43
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
theorem step_44
    {C K L eta tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_eta : 0 < eta)
    (sign_tau : 0 ≤ tau)
    (named : tau = (C * L * eta / K : ℝ)) :
    ((-C) * L * eta / K + tau : ℝ) = 0 := by
  rw [named]
  ring

/-- `r is a mean`, rule: hypothesis; r = R_K/K, one vector under two names -/
def step_45 (K size_r v : ℝ) : Prop :=
    (size_r - v / K : ℝ) = 0

/-- `z is a mean`, rule: hypothesis; z = Q_K/K, one vector, two names -/
def step_46 (K dot_z_z q : ℝ) : Prop :=
    (dot_z_z - q ^ 2 / K ^ 2 : ℝ) = 0

/-- `X`, rule: hypothesis; X names (K - 1) L eta -/
def step_47 (K L X eta : ℝ) : Prop :=
    ((-L) * eta * (K - 1) + X : ℝ) = 0

/-- `size of r`, rule: combination of step_41, step_43, step_45 -/
theorem step_48
    {K L P Y rho size_r v : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_rho : 0 ≤ rho)
    (sign_size_r : 0 ≤ size_r)
    (sign_v : 0 ≤ v)
    (step_41 : 0 ≤ (K * L * rho + L * Y - v : ℝ))
    (step_43 : (P - L * Y / K : ℝ) = 0)
    (step_45 : (size_r - v / K : ℝ) = 0) :
    0 ≤ (L * rho + P - size_r : ℝ) := by
  have same : (L * rho + P - size_r : ℝ) = (1 / K) * (K * L * rho + L * Y - v : ℝ) + (1) * (P - L * Y / K : ℝ) + (-1) * (size_r - v / K : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_41) (le_of_eq (by rw [step_43]; ring))) (le_of_eq (by rw [step_45]; ring)))

/-- `drift`, rule: combination of step_36, step_37, step_43, step_44, step_47 -/
theorem step_49
    {C K L P SP X Y eta g rho tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_SP : 0 ≤ SP)
    (sign_X : 0 ≤ X)
    (sign_Y : 0 ≤ Y)
    (sign_eta : 0 < eta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau)
    (step_36 : 0 ≤ (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ))
    (step_37 : 0 ≤ (-Y + eta * (C + SP) : ℝ))
    (step_43 : (P - L * Y / K : ℝ) = 0)
    (step_44 : ((-C) * L * eta / K + tau : ℝ) = 0)
    (step_47 : ((-L) * eta * (K - 1) + X : ℝ) = 0) :
    0 ≤ ((-P) * (1 - X) + X * (L * rho + g) / 2 + tau : ℝ) := by
  have same : ((-P) * (1 - X) + X * (L * rho + g) / 2 + tau : ℝ) = (L / K) * (-Y + eta * (C + SP) : ℝ) + (L * eta / K) * (K * (K - 1) * (L * rho + g) / 2 + L * Y * (K - 1) - SP : ℝ) + (1) * ((-C) * L * eta / K + tau : ℝ) + (X - 1) * (P - L * Y / K : ℝ) + (L * rho / 2 + g / 2 + L * Y / K) * ((-L) * eta * (K - 1) + X : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_37) (mul_nonneg (by positivity) step_36)) (le_of_eq (by rw [step_44]; ring))) (le_of_eq (by rw [step_43]; ring))) (le_of_eq (by rw [step_47]; ring)))

/-- `size of z`, rule: combination of step_38, step_46 -/
theorem step_50
    {K dot_z_z q sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_38 : 0 ≤ (K * sigma_l ^ 2 - q ^ 2 : ℝ))
    (step_46 : (dot_z_z - q ^ 2 / K ^ 2 : ℝ) = 0) :
    0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ) := by
  have same : (-dot_z_z + sigma_l ^ 2 / K : ℝ) = ((K ^ 2)⁻¹) * (K * sigma_l ^ 2 - q ^ 2 : ℝ) + (-1) * (dot_z_z - q ^ 2 / K ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_38) (le_of_eq (by rw [step_46]; ring)))

/-- `Cauchy`, rule: instance of step_40 -/
theorem step_51
    {C K SQ c : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_SQ : 0 ≤ SQ)
    (step_40 : 0 ≤ ((-2) * C * c + K * c ^ 2 + SQ : ℝ))
    (at_c : c = (C / K : ℝ)) :
    0 ≤ ((-C ^ 2) / K + SQ : ℝ) := by
  have same : ((-C ^ 2) / K + SQ : ℝ) = ((-2) * C * c + K * c ^ 2 + SQ : ℝ) := by
    rw [at_c]
    field_simp
    ring
  rw [same]
  exact step_40

/-- `square of tau`, rule: combination of step_44, step_51 -/
theorem step_52
    {C K L SQ eta tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_eta : 0 < eta)
    (sign_tau : 0 ≤ tau)
    (step_44 : ((-C) * L * eta / K + tau : ℝ) = 0)
    (step_51 : 0 ≤ ((-C ^ 2) / K + SQ : ℝ)) :
    0 ≤ (C ^ 2 * L ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) := by
  have same : (C ^ 2 * L ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) = (L ^ 2 * eta ^ 2 / K) * ((-C ^ 2) / K + SQ : ℝ) + ((-C) * L * eta / K - tau) * ((-C) * L * eta / K + tau : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_51) (le_of_eq (by rw [step_44]; ring)))

/-- `tau`, rule: combination of step_39, step_47, step_52 -/
theorem step_53
    {C K L SQ X eta sigma_l tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_tau : 0 ≤ tau)
    (step_39 : 0 ≤ (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ))
    (step_47 : ((-L) * eta * (K - 1) + X : ℝ) = 0)
    (step_52 : 0 ≤ (C ^ 2 * L ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ)) :
    0 ≤ (L * X * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) := by
  have same : (L * X * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) = (1) * (C ^ 2 * L ^ 2 * eta ^ 2 / K ^ 2 - tau ^ 2 + L ^ 2 * eta ^ 2 * ((-C ^ 2) / K + SQ) / K : ℝ) + (L ^ 2 * eta ^ 2 / K) * (K * sigma_l ^ 2 * (K - 1) / 2 - SQ : ℝ) + (L * eta * sigma_l ^ 2 / 2) * ((-L) * eta * (K - 1) + X : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_52) (mul_nonneg (by positivity) step_39)) (le_of_eq (by rw [step_47]; ring)))

/-- `heterogeneity`, rule: hypothesis; mean |grad F_i - grad F|^2 <= sigma_g^2 -/
def step_54 (dot_b_b sigma_g : ℝ) : Prop :=
    0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ)

/-- `b has mean zero`, rule: mean over clients -/
def step_55 (dot_G_b : ℝ) : Prop :=
    (dot_G_b : ℝ) = 0

/-- `bound on P`, rule: combination of step_3, step_49 -/
theorem step_56
    {L P X g rho tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_X : 0 ≤ X)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau)
    (step_3 : 0 ≤ (1 / 10 - X : ℝ))
    (step_49 : 0 ≤ ((-P) * (1 - X) + X * (L * rho + g) / 2 + tau : ℝ)) :
    0 ≤ (-P + 5 * X * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) := by
  have same : (-P + 5 * X * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) = (10 / 9) * ((-P) * (1 - X) + X * (L * rho + g) / 2 + tau : ℝ) + (10 * P / 9) * (1 / 10 - X : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_49) (mul_nonneg (by positivity) step_3))

/-- `g against L rho`, rule: scalar square -/
theorem step_57
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
theorem step_58
    {L X g rho tau : ℝ}
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_tau : 0 ≤ tau) :
    0 ≤ ((X * (L * rho + g) / 4 - tau) ^ 2 : ℝ) := by
  have same : ((X * (L * rho + g) / 4 - tau) ^ 2 : ℝ) = (X * (L * rho + g) / 4 - tau : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `P^2`, rule: combination of step_53, step_54, step_55, step_56, step_57, step_58, step_6 -/
theorem step_59
    {L P X dot_G_G dot_G_b dot_b_b eta g rho sigma_g sigma_l tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_g : 0 ≤ g)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_tau : 0 ≤ tau)
    (step_6 : (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 : ℝ) = 0)
    (step_53 : 0 ≤ (L * X * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ))
    (step_54 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_55 : (dot_G_b : ℝ) = 0)
    (step_56 : 0 ≤ (-P + 5 * X * (L * rho + g) / 9 + 10 * tau / 9 : ℝ))
    (step_57 : 0 ≤ (((-L) * rho + g) ^ 2 : ℝ))
    (step_58 : 0 ≤ ((X * (L * rho + g) / 4 - tau) ^ 2 : ℝ)) :
    0 ≤ (50 * L * X * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 : ℝ) := by
  have same : (50 * L * X * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 : ℝ) = (P + 5 * X * (L * rho + g) / 9 + 10 * tau / 9) * (-P + 5 * X * (L * rho + g) / 9 + 10 * tau / 9 : ℝ) + (25 * X ^ 2 / 54) * (((-L) * rho + g) ^ 2 : ℝ) + (25 * X ^ 2 / 27) * (-dot_b_b + sigma_g ^ 2 : ℝ) + ((-25) * X ^ 2 / 27) * (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 : ℝ) + ((-50) * X ^ 2 / 27) * (dot_G_b : ℝ) + (200 / 81) * ((X * (L * rho + g) / 4 - tau) ^ 2 : ℝ) + (100 / 27) * (L * X * eta * sigma_l ^ 2 / 2 - tau ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_56) (mul_nonneg (by positivity) step_57)) (mul_nonneg (by positivity) step_54)) (le_of_eq (by rw [step_6]; ring))) (le_of_eq (by rw [step_55]; ring))) (mul_nonneg (by positivity) step_58)) (mul_nonneg (by positivity) step_53))

/-- `Young in r`, rule: scalar square -/
theorem step_60
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

/-- `|r|^2`, rule: combination of step_42, step_48, step_59, step_60 -/
theorem step_61
    {L P X dot_G_G dot_r_r eta rho sigma_g sigma_l size_r : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_size_r : 0 ≤ size_r)
    (step_42 : (-dot_r_r + size_r ^ 2 : ℝ) = 0)
    (step_48 : 0 ≤ (L * rho + P - size_r : ℝ))
    (step_59 : 0 ≤ (50 * L * X * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 : ℝ))
    (step_60 : 0 ≤ (((-L) * rho + P) ^ 2 : ℝ)) :
    0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) := by
  have same : (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) = (L * rho + P + size_r) * (L * rho + P - size_r : ℝ) + (1) * (-dot_r_r + size_r ^ 2 : ℝ) + (1) * (((-L) * rho + P) ^ 2 : ℝ) + (2) * (50 * L * X * eta * sigma_l ^ 2 / 27 - P ^ 2 + 25 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_48) (le_of_eq (by rw [step_42]; ring))) (mul_nonneg (by positivity) step_60)) (mul_nonneg (by positivity) step_59))

/-- `m is the mean of r`, rule: mean over clients -/
def step_62 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_63
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|m|^2`, rule: combination of step_62, step_63 -/
theorem step_64
    {dot_m_m dot_m_r dot_r_r : ℝ}
    (step_62 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_63 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ)) :
    0 ≤ (-dot_m_m + dot_r_r : ℝ) := by
  have same : (-dot_m_m + dot_r_r : ℝ) = (1) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (2) * (-dot_m_m + dot_m_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_63) (le_of_eq (by rw [step_62]; ring)))

/-- `clients are independent`, rule: independence -/
def step_65 (N dot_n_n dot_z_z : ℝ) : Prop :=
    0 ≤ (-dot_n_n + dot_z_z / N : ℝ)

/-- `|n|^2`, rule: combination of step_50, step_65 -/
theorem step_66
    {K N dot_n_n dot_z_z sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_N : 0 < N)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_50 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_65 : 0 ≤ (-dot_n_n + dot_z_z / N : ℝ)) :
    0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) := by
  have same : (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) = (1 / N) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (1) * (-dot_n_n + dot_z_z / N : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_50) (mul_nonneg (by positivity) step_65))

/-- `n is unbiased`, rule: unbiased -/
def step_67 (dot_G_n : ℝ) : Prop :=
    (dot_G_n : ℝ) = 0

/-- `cohort along G`, rule: sampled mean -/
def step_68 (dot_G_G dot_G_d dot_G_m dot_G_n : ℝ) : Prop :=
    (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0

/-- `cohort`, rule: sampling without replacement -/
def step_69 (dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z kappa : ℝ) : Prop :=
    (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0

/-- `Young against the noise`, rule: square -/
theorem step_70
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
def step_71 (A F F_next L dot_G_d dot_d_d : ℝ) : Prop :=
    0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ)

/-- `G against u`, rule: mean over clients -/
def step_72 (dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z : ℝ) : Prop :=
    (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0

/-- `z is unbiased`, rule: unbiased -/
def step_73 (dot_b_z : ℝ) : Prop :=
    (dot_b_z : ℝ) = 0

/-- `mean of u against G`, rule: square -/
theorem step_74
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (1 : ℝ) • n, (1 : ℝ) • m + (1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young between clients`, rule: square -/
theorem step_75
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {b r z : E} :
    0 ≤ ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) := by
  have same : ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r, (1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm b r, real_inner_comm b z, real_inner_comm r z]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `spread of the clients`, rule: combination of step_50, step_54, step_61, step_72, step_73, step_74, step_75 -/
theorem step_76
    {K L X dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta rho sigma_g sigma_l : ℝ}
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_50 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / K : ℝ))
    (step_54 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_61 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ))
    (step_72 : (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0)
    (step_73 : (dot_b_z : ℝ) = 0)
    (step_74 : 0 ≤ (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ))
    (step_75 : 0 ≤ (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ)) :
    0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) := by
  have same : (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) = (1) * (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ) + (1) * (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ) + (2) * (-dot_b_b + sigma_g ^ 2 : ℝ) + (2) * (-dot_z_z + sigma_l ^ 2 / K : ℝ) + (-4) * (dot_b_z : ℝ) + (2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) + (-2) * (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_74) (mul_nonneg (by positivity) step_75)) (mul_nonneg (by positivity) step_54)) (mul_nonneg (by positivity) step_50)) (le_of_eq (by rw [step_73]; ring))) (mul_nonneg (by positivity) step_61)) (le_of_eq (by rw [step_72]; ring)))

/-- `one round`, rule: combination of step_2, step_61, step_64, step_66, step_67, step_68, step_69, step_70, step_71, step_76 -/
theorem step_77
    {A F F_next K L N X dot_G_G dot_G_b dot_G_d dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z eta kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_2 : 0 ≤ ((-A) * L + 1 / 2 : ℝ))
    (step_61 : 0 ≤ (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ))
    (step_64 : 0 ≤ (-dot_m_m + dot_r_r : ℝ))
    (step_66 : 0 ≤ (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ))
    (step_67 : (dot_G_n : ℝ) = 0)
    (step_68 : (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) = 0)
    (step_69 : (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0)
    (step_70 : 0 ≤ (A ^ 2 * L ^ 2 * dot_n_n - 2 * A * L * dot_G_n * ((-A) * L + 1) - 2 * A * L * dot_m_n * ((-A) * L + 1) + dot_G_G * ((-A) * L + 1) ^ 2 + 2 * dot_G_m * ((-A) * L + 1) ^ 2 + dot_m_m * ((-A) * L + 1) ^ 2 : ℝ))
    (step_71 : 0 ≤ (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ))
    (step_76 : 0 ≤ (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ))
    (step_1 : 0 < ((-A) * L + 1 : ℝ)) :
    0 ≤ ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ) := by
  have same : ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ) = (1) * (A ^ 2 * L * dot_d_d / 2 - A * dot_G_d + F - F_next : ℝ) + (A) * (-dot_G_G + dot_G_d - dot_G_m - dot_G_n : ℝ) + ((-A ^ 2) * L / 2) * (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) + (A) * (dot_G_n : ℝ) + (A / ((-2) * A * L + 2)) * (A ^ 2 * L ^ 2 * dot_n_n - 2 * A * L * dot_G_n * ((-A) * L + 1) - 2 * A * L * dot_m_n * ((-A) * L + 1) + dot_G_G * ((-A) * L + 1) ^ 2 + 2 * dot_G_m * ((-A) * L + 1) ^ 2 + dot_m_m * ((-A) * L + 1) ^ 2 : ℝ) + (A ^ 2 * L / (2 * ((-A) * L + 1))) * (-dot_n_n + sigma_l ^ 2 / (K * N) : ℝ) + (A / 2) * (-dot_m_m + dot_r_r : ℝ) + (A / 2) * (2 * L ^ 2 * rho ^ 2 + 100 * L * X * eta * sigma_l ^ 2 / 27 + 50 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - dot_r_r : ℝ) + (A ^ 2 * L * sigma_l ^ 2 / (K * N * ((-A) * L + 1))) * ((-A) * L + 1 / 2 : ℝ) + (A ^ 2 * L * kappa / 2) * (4 * L ^ 2 * rho ^ 2 + 200 * L * X * eta * sigma_l ^ 2 / 27 + 100 * X ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / 27 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / K : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_71) (le_of_eq (by rw [step_68]; ring))) (le_of_eq (by rw [step_69]; ring))) (le_of_eq (by rw [step_67]; ring))) (mul_nonneg (by positivity) step_70)) (mul_nonneg (by positivity) step_66)) (mul_nonneg (by positivity) step_64)) (mul_nonneg (by positivity) step_61)) (mul_nonneg (by positivity) step_2)) (mul_nonneg (by positivity) step_76))

/-- `|G|^2`, rule: square -/
theorem step_78
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G : E} :
    0 ≤ ((⟪G, G⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G, (1 : ℝ) • G⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `one round, with numbers`, rule: combination of step_2, step_3, step_77, step_78 -/
theorem step_79
    {A F F_next K L N X dot_G_G eta kappa rho sigma_g sigma_l : ℝ}
    (sign_A : 0 < A)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_X : 0 ≤ X)
    (sign_eta : 0 < eta)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_2 : 0 ≤ ((-A) * L + 1 / 2 : ℝ))
    (step_3 : 0 ≤ (1 / 10 - X : ℝ))
    (step_77 : 0 ≤ ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ))
    (step_78 : 0 ≤ (dot_G_G : ℝ))
    (step_1 : 0 < ((-A) * L + 1 : ℝ)) :
    0 ≤ (A ^ 2 * L * kappa * sigma_g ^ 2 + A ^ 2 * L * kappa * sigma_l ^ 2 / K + A ^ 2 * L * sigma_l ^ 2 / (K * N) + 109 * A * L ^ 2 * kappa * rho ^ 2 / 108 + 109 * A * L ^ 2 * rho ^ 2 / 108 + 50 * A * L * X * eta * kappa * sigma_l ^ 2 / 27 + 50 * A * L * X * eta * sigma_l ^ 2 / 27 + 25 * A * X ^ 2 * kappa * sigma_g ^ 2 / 27 + 25 * A * X ^ 2 * sigma_g ^ 2 / 27 - A * dot_G_G * (53 / 54 - kappa / 54) / 2 + F - F_next : ℝ) := by
  have same : (A ^ 2 * L * kappa * sigma_g ^ 2 + A ^ 2 * L * kappa * sigma_l ^ 2 / K + A ^ 2 * L * sigma_l ^ 2 / (K * N) + 109 * A * L ^ 2 * kappa * rho ^ 2 / 108 + 109 * A * L ^ 2 * rho ^ 2 / 108 + 50 * A * L * X * eta * kappa * sigma_l ^ 2 / 27 + 50 * A * L * X * eta * sigma_l ^ 2 / 27 + 25 * A * X ^ 2 * kappa * sigma_g ^ 2 / 27 + 25 * A * X ^ 2 * sigma_g ^ 2 / 27 - A * dot_G_G * (53 / 54 - kappa / 54) / 2 + F - F_next : ℝ) = (1) * ((-A) * ((-2) * A * L * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) - 2 * A * L * sigma_l ^ 2 / (K * N) - L ^ 2 * rho ^ 2 * (50 * X ^ 2 / 27 + 2) * (2 * A * L * kappa + 1) - L * X * eta * sigma_l ^ 2 * (200 * A * L * kappa / 27 + 100 / 27) - X ^ 2 * sigma_g ^ 2 * (100 * A * L * kappa / 27 + 50 / 27) + dot_G_G * ((-100) * A * L * X ^ 2 * kappa / 27 - 50 * X ^ 2 / 27 + 1)) / 2 + F - F_next : ℝ) + (A * (X + 1 / 10) * (50 * kappa / 27 + 50 / 27) / 2) * (dot_G_G : ℝ) * (1 / 10 - X : ℝ) + (50 * A * X ^ 2 * kappa / 27) * (dot_G_G : ℝ) * ((-A) * L + 1 / 2 : ℝ) + (A * (2 * L ^ 2 * kappa * rho ^ 2 * (50 * X ^ 2 / 27 + 2) + 200 * L * X * eta * kappa * sigma_l ^ 2 / 27 + 100 * X ^ 2 * kappa * sigma_g ^ 2 / 27) / 2) * ((-A) * L + 1 / 2 : ℝ) + (A * L ^ 2 * rho ^ 2 * (X + 1 / 10) * (50 * kappa / 27 + 50 / 27) / 2) * (1 / 10 - X : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_77) (mul_nonneg (mul_nonneg (by positivity) step_78) step_3)) (mul_nonneg (mul_nonneg (by positivity) step_78) step_2)) (mul_nonneg (by positivity) step_2)) (mul_nonneg (by positivity) step_3))

/-- `after every round`, rule: loop of step_79 -/
theorem step_80
    {F_0 K L N kappa sigma_g sigma_l : ℝ}
    {A F F_next G_sum S_A S_eta S_rho S_x W X dot_G_G eta rho : ℕ → ℝ}
    (sign_A : ∀ j, 0 < A j)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_S_A : ∀ j, 0 ≤ S_A j)
    (sign_S_eta : ∀ j, 0 ≤ S_eta j)
    (sign_S_rho : ∀ j, 0 ≤ S_rho j)
    (sign_S_x : ∀ j, 0 ≤ S_x j)
    (sign_W : ∀ j, 0 ≤ W j)
    (sign_X : ∀ j, 0 ≤ X j)
    (sign_eta : ∀ j, 0 < eta j)
    (sign_kappa : 0 ≤ kappa)
    (sign_rho : ∀ j, 0 ≤ rho j)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (start_F : F 0 = (F_0 : ℝ))
    (turn_F : ∀ j, F (j + 1) = ((F_next j) : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((A j) * (dot_G_G j) + (G_sum j) : ℝ))
    (start_W : W 0 = (0 : ℝ))
    (turn_W : ∀ j, W (j + 1) = ((A j) + (W j) : ℝ))
    (start_S_A : S_A 0 = (0 : ℝ))
    (turn_S_A : ∀ j, S_A (j + 1) = ((A j) ^ 2 + (S_A j) : ℝ))
    (start_S_x : S_x 0 = (0 : ℝ))
    (turn_S_x : ∀ j, S_x (j + 1) = ((A j) * (X j) ^ 2 + (S_x j) : ℝ))
    (start_S_rho : S_rho 0 = (0 : ℝ))
    (turn_S_rho : ∀ j, S_rho (j + 1) = ((A j) * (rho j) ^ 2 + (S_rho j) : ℝ))
    (start_S_eta : S_eta 0 = (0 : ℝ))
    (turn_S_eta : ∀ j, S_eta (j + 1) = ((A j) * (X j) * (eta j) + (S_eta j) : ℝ))
    (step_79 : ∀ j, 0 ≤ ((A j) ^ 2 * L * kappa * sigma_g ^ 2 + (A j) ^ 2 * L * kappa * sigma_l ^ 2 / K + (A j) ^ 2 * L * sigma_l ^ 2 / (K * N) + 109 * (A j) * L ^ 2 * kappa * (rho j) ^ 2 / 108 + 109 * (A j) * L ^ 2 * (rho j) ^ 2 / 108 + 50 * (A j) * L * (X j) * (eta j) * kappa * sigma_l ^ 2 / 27 + 50 * (A j) * L * (X j) * (eta j) * sigma_l ^ 2 / 27 + 25 * (A j) * (X j) ^ 2 * kappa * sigma_g ^ 2 / 27 + 25 * (A j) * (X j) ^ 2 * sigma_g ^ 2 / 27 - (A j) * (dot_G_G j) * (53 / 54 - kappa / 54) / 2 + (F j) - (F_next j) : ℝ)) :
    ∀ j, 0 ≤ (-(F j) + F_0 - (G_sum j) * (53 / 54 - kappa / 54) / 2 + 109 * L ^ 2 * (S_rho j) * kappa / 108 + 109 * L ^ 2 * (S_rho j) / 108 + L * (S_A j) * kappa * sigma_g ^ 2 + 50 * L * (S_eta j) * kappa * sigma_l ^ 2 / 27 + 50 * L * (S_eta j) * sigma_l ^ 2 / 27 + 25 * (S_x j) * kappa * sigma_g ^ 2 / 27 + 25 * (S_x j) * sigma_g ^ 2 / 27 + L * (S_A j) * kappa * sigma_l ^ 2 / K + L * (S_A j) * sigma_l ^ 2 / (K * N) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_F, start_G_sum, start_W, start_S_A, start_S_x, start_S_rho, start_S_eta]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : (-(F (j + 1)) + F_0 - (G_sum (j + 1)) * (53 / 54 - kappa / 54) / 2 + 109 * L ^ 2 * (S_rho (j + 1)) * kappa / 108 + 109 * L ^ 2 * (S_rho (j + 1)) / 108 + L * (S_A (j + 1)) * kappa * sigma_g ^ 2 + 50 * L * (S_eta (j + 1)) * kappa * sigma_l ^ 2 / 27 + 50 * L * (S_eta (j + 1)) * sigma_l ^ 2 / 27 + 25 * (S_x (j + 1)) * kappa * sigma_g ^ 2 / 27 + 25 * (S_x (j + 1)) * sigma_g ^ 2 / 27 + L * (S_A (j + 1)) * kappa * sigma_l ^ 2 / K + L * (S_A (j + 1)) * sigma_l ^ 2 / (K * N) : ℝ) = (1) * (-(F j) + F_0 - (G_sum j) * (53 / 54 - kappa / 54) / 2 + 109 * L ^ 2 * (S_rho j) * kappa / 108 + 109 * L ^ 2 * (S_rho j) / 108 + L * (S_A j) * kappa * sigma_g ^ 2 + 50 * L * (S_eta j) * kappa * sigma_l ^ 2 / 27 + 50 * L * (S_eta j) * sigma_l ^ 2 / 27 + 25 * (S_x j) * kappa * sigma_g ^ 2 / 27 + 25 * (S_x j) * sigma_g ^ 2 / 27 + L * (S_A j) * kappa * sigma_l ^ 2 / K + L * (S_A j) * sigma_l ^ 2 / (K * N) : ℝ) + (1) * ((A j) ^ 2 * L * kappa * sigma_g ^ 2 + (A j) ^ 2 * L * kappa * sigma_l ^ 2 / K + (A j) ^ 2 * L * sigma_l ^ 2 / (K * N) + 109 * (A j) * L ^ 2 * kappa * (rho j) ^ 2 / 108 + 109 * (A j) * L ^ 2 * (rho j) ^ 2 / 108 + 50 * (A j) * L * (X j) * (eta j) * kappa * sigma_l ^ 2 / 27 + 50 * (A j) * L * (X j) * (eta j) * sigma_l ^ 2 / 27 + 25 * (A j) * (X j) ^ 2 * kappa * sigma_g ^ 2 / 27 + 25 * (A j) * (X j) ^ 2 * sigma_g ^ 2 / 27 - (A j) * (dot_G_G j) * (53 / 54 - kappa / 54) / 2 + (F j) - (F_next j) : ℝ) := by
        rw [turn_F, turn_G_sum, turn_W, turn_S_A, turn_S_x, turn_S_rho, turn_S_eta]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_79 j)))

/-- `F is bounded below`, rule: hypothesis; F(w^T) >= F^* -/
def step_81 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean weighted by A_t -/
def step_82 (G_sum Gamma W : ℝ) : Prop :=
    ((-G_sum) / W + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names F(w^0) - F^* -/
def step_83 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_80, step_81, step_82, step_83 -/
theorem step_84
    {Delta F F_0 F_star G_sum Gamma K L N S_A S_eta S_rho S_x W kappa sigma_g sigma_l : ℝ}
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_S_A : 0 ≤ S_A)
    (sign_S_eta : 0 ≤ S_eta)
    (sign_S_rho : 0 ≤ S_rho)
    (sign_S_x : 0 ≤ S_x)
    (sign_W : 0 ≤ W)
    (sign_kappa : 0 ≤ kappa)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_80 : 0 ≤ (-F + F_0 - G_sum * (53 / 54 - kappa / 54) / 2 + 109 * L ^ 2 * S_rho * kappa / 108 + 109 * L ^ 2 * S_rho / 108 + L * S_A * kappa * sigma_g ^ 2 + 50 * L * S_eta * kappa * sigma_l ^ 2 / 27 + 50 * L * S_eta * sigma_l ^ 2 / 27 + 25 * S_x * kappa * sigma_g ^ 2 / 27 + 25 * S_x * sigma_g ^ 2 / 27 + L * S_A * kappa * sigma_l ^ 2 / K + L * S_A * sigma_l ^ 2 / (K * N) : ℝ))
    (step_81 : 0 ≤ (F - F_star : ℝ))
    (step_82 : ((-G_sum) / W + Gamma : ℝ) = 0)
    (step_83 : (Delta - F_0 + F_star : ℝ) = 0) :
    0 ≤ (2 * Delta / W - Gamma * (53 / 54 - kappa / 54) + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ) := by
  have same : (2 * Delta / W - Gamma * (53 / 54 - kappa / 54) + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ) = (2 / W) * (-F + F_0 - G_sum * (53 / 54 - kappa / 54) / 2 + 109 * L ^ 2 * S_rho * kappa / 108 + 109 * L ^ 2 * S_rho / 108 + L * S_A * kappa * sigma_g ^ 2 + 50 * L * S_eta * kappa * sigma_l ^ 2 / 27 + 50 * L * S_eta * sigma_l ^ 2 / 27 + 25 * S_x * kappa * sigma_g ^ 2 / 27 + 25 * S_x * sigma_g ^ 2 / 27 + L * S_A * kappa * sigma_l ^ 2 / K + L * S_A * sigma_l ^ 2 / (K * N) : ℝ) + (2 / W) * (F - F_star : ℝ) + (2 / W) * (Delta - F_0 + F_star : ℝ) + (kappa / 54 - 53 / 54) * ((-G_sum) / W + Gamma : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_80) (mul_nonneg (by positivity) step_81)) (le_of_eq (by rw [step_83]; ring))) (le_of_eq (by rw [step_82]; ring)))

/-- The statement of `inexact-gradients-decreasing`, of step_84 -/
theorem conclusion
    {Delta Gamma K L N S_A S_eta S_rho S_x W kappa sigma_g sigma_l : ℝ}
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_K : 0 < K)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_S_A : 0 ≤ S_A)
    (sign_S_eta : 0 ≤ S_eta)
    (sign_S_rho : 0 ≤ S_rho)
    (sign_S_x : 0 ≤ S_x)
    (sign_W : 0 ≤ W)
    (sign_kappa : 0 ≤ kappa)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_84 : 0 ≤ (2 * Delta / W - Gamma * (53 / 54 - kappa / 54) + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ)) :
    (Gamma * (53 / 54 - kappa / 54) : ℝ) ≤ (2 * Delta / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ) := by
  have same : (2 * Delta / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ) - (Gamma * (53 / 54 - kappa / 54) : ℝ) = (2 * Delta / W - Gamma * (53 / 54 - kappa / 54) + L ^ 2 * S_rho * (109 * kappa / 54 + 109 / 54) / W + 2 * L * S_A * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / W + L * S_eta * sigma_l ^ 2 * (100 * kappa / 27 + 100 / 27) / W + S_x * sigma_g ^ 2 * (50 * kappa / 27 + 50 / 27) / W + 2 * L * S_A * sigma_l ^ 2 / (K * N * W) : ℝ) := by
    field_simp
    ring
  linarith

end InexactGradientsDecreasing
