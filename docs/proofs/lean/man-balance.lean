import Mathlib

/-!
# activation norm along gradient descent with MAN's penalty

$\tfrac1T\sum_{t<T}\mathbb E\|a_l^t\|^2\le\frac{\|\theta_l^0\|^2}{4 T \eta \zeta}+\frac{\|W_{l+1}^T\|^2}{4 T \eta \zeta}+\frac{\tfrac1T\sum_{t<T}\|\nabla_{\theta_l}f(\theta^t)\|^2 \eta}{4 \zeta}$

Written from `docs/proofs/man-balance.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace ManBalance

/-- `Euler`, rule: hypothesis; d/dc f(c u, v/c) at c = 1: network and other activations stay, a_l becomes c a_l, its term 2 zeta A -/
def step_1 (A dot_g_u dot_h_v zeta : ℝ) : Prop :=
    ((-2) * A * zeta + dot_g_u - dot_h_v : ℝ) = 0

/-- `gradient of the next layer`, rule: square -/
theorem step_2
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {h : E} :
    0 ≤ ((⟪h, h⟫_ℝ) : ℝ) := by
  have same : ((⟪h, h⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • h, (1 : ℝ) • h⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `balance`, rule: loop of step_1, step_2 -/
theorem step_3
    {U_0 V_0 eta zeta : ℝ}
    {A A_sum G_sum dot_g_g dot_g_u dot_h_h dot_h_v dot_u_u dot_v_v t : ℕ → ℝ}
    (sign_A : ∀ j, 0 ≤ A j)
    (sign_A_sum : ∀ j, 0 ≤ A_sum j)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_U_0 : 0 ≤ U_0)
    (sign_V_0 : 0 ≤ V_0)
    (sign_eta : 0 < eta)
    (sign_t : ∀ j, 0 ≤ t j)
    (sign_zeta : 0 < zeta)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_dot_u_u : dot_u_u 0 = (U_0 : ℝ))
    (turn_dot_u_u : ∀ j, dot_u_u (j + 1) = ((dot_g_g j) * eta ^ 2 - 2 * (dot_g_u j) * eta + (dot_u_u j) : ℝ))
    (start_dot_v_v : dot_v_v 0 = (V_0 : ℝ))
    (turn_dot_v_v : ∀ j, dot_v_v (j + 1) = ((dot_h_h j) * eta ^ 2 - 2 * (dot_h_v j) * eta + (dot_v_v j) : ℝ))
    (start_A_sum : A_sum 0 = (0 : ℝ))
    (turn_A_sum : ∀ j, A_sum (j + 1) = ((A j) + (A_sum j) : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((G_sum j) + (dot_g_g j) : ℝ))
    (step_1 : ∀ j, ((-2) * (A j) * zeta + (dot_g_u j) - (dot_h_v j) : ℝ) = 0)
    (step_2 : ∀ j, 0 ≤ ((dot_h_h j) : ℝ)) :
    ∀ j, 0 ≤ ((-4) * (A_sum j) * eta * zeta + (G_sum j) * eta ^ 2 + U_0 - V_0 - (dot_u_u j) + (dot_v_v j) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_dot_u_u, start_dot_v_v, start_A_sum, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((-4) * (A_sum (j + 1)) * eta * zeta + (G_sum (j + 1)) * eta ^ 2 + U_0 - V_0 - (dot_u_u (j + 1)) + (dot_v_v (j + 1)) : ℝ) = (1) * ((-4) * (A_sum j) * eta * zeta + (G_sum j) * eta ^ 2 + U_0 - V_0 - (dot_u_u j) + (dot_v_v j) : ℝ) + (2 * eta) * ((-2) * (A j) * zeta + (dot_g_u j) - (dot_h_v j) : ℝ) + (eta ^ 2) * ((dot_h_h j) : ℝ) := by
        rw [turn_t, turn_dot_u_u, turn_dot_v_v, turn_A_sum, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) kept_1) (le_of_eq (by rw [(step_1 j)]; ring))) (mul_nonneg (by positivity) (step_2 j)))

/-- `norm of the layer at the end`, rule: square -/
theorem step_4
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {u : E} :
    0 ≤ ((⟪u, u⟫_ℝ) : ℝ) := by
  have same : ((⟪u, u⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • u, (1 : ℝ) • u⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `A_mean`, rule: hypothesis; names the mean over the steps -/
def step_5 (A_mean A_sum T : ℝ) : Prop :=
    (A_mean - A_sum / T : ℝ) = 0

/-- `G_u`, rule: hypothesis; names the mean over the steps -/
def step_6 (G_sum G_u T : ℝ) : Prop :=
    ((-G_sum) / T + G_u : ℝ) = 0

/-- `V_T`, rule: hypothesis; names |W_{l+1}|^2 after T steps -/
def step_7 (V_T dot_v_v : ℝ) : Prop :=
    (V_T - dot_v_v : ℝ) = 0

/-- `rate`, rule: combination of step_3, step_4, step_5, step_6, step_7 -/
theorem step_8
    {A_mean A_sum G_sum G_u T U_0 V_0 V_T dot_u_u dot_v_v eta zeta : ℝ}
    (sign_A_mean : 0 ≤ A_mean)
    (sign_A_sum : 0 ≤ A_sum)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_G_u : 0 ≤ G_u)
    (sign_T : 0 < T)
    (sign_U_0 : 0 ≤ U_0)
    (sign_V_0 : 0 ≤ V_0)
    (sign_V_T : 0 ≤ V_T)
    (sign_eta : 0 < eta)
    (sign_zeta : 0 < zeta)
    (step_3 : 0 ≤ ((-4) * A_sum * eta * zeta + G_sum * eta ^ 2 + U_0 - V_0 - dot_u_u + dot_v_v : ℝ))
    (step_4 : 0 ≤ (dot_u_u : ℝ))
    (step_5 : (A_mean - A_sum / T : ℝ) = 0)
    (step_6 : ((-G_sum) / T + G_u : ℝ) = 0)
    (step_7 : (V_T - dot_v_v : ℝ) = 0) :
    0 ≤ (-A_mean + G_u * eta / (4 * zeta) + U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) : ℝ) := by
  have same : (-A_mean + G_u * eta / (4 * zeta) + U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) : ℝ) = (1 / (4 * T * eta * zeta)) * ((-4) * A_sum * eta * zeta + G_sum * eta ^ 2 + U_0 - V_0 - dot_u_u + dot_v_v : ℝ) + (1 / (4 * T * eta * zeta)) * (dot_u_u : ℝ) + (V_0 / (4 * T * eta * zeta)) + (1 / (4 * T * eta * zeta)) * (V_T - dot_v_v : ℝ) + (eta / (4 * zeta)) * ((-G_sum) / T + G_u : ℝ) + (-1) * (A_mean - A_sum / T : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_3) (mul_nonneg (by positivity) step_4)) (by positivity)) (le_of_eq (by rw [step_7]; ring))) (le_of_eq (by rw [step_6]; ring))) (le_of_eq (by rw [step_5]; ring)))

/-- The statement of `man-balance`, of step_8 -/
theorem conclusion
    {A_mean G_u T U_0 V_T eta zeta : ℝ}
    (sign_A_mean : 0 ≤ A_mean)
    (sign_G_u : 0 ≤ G_u)
    (sign_T : 0 < T)
    (sign_U_0 : 0 ≤ U_0)
    (sign_V_T : 0 ≤ V_T)
    (sign_eta : 0 < eta)
    (sign_zeta : 0 < zeta)
    (step_8 : 0 ≤ (-A_mean + G_u * eta / (4 * zeta) + U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) : ℝ)) :
    (A_mean : ℝ) ≤ (U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) + G_u * eta / (4 * zeta) : ℝ) := by
  have same : (U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) + G_u * eta / (4 * zeta) : ℝ) - (A_mean : ℝ) = (-A_mean + G_u * eta / (4 * zeta) + U_0 / (4 * T * eta * zeta) + V_T / (4 * T * eta * zeta) : ℝ) := by
    field_simp
    ring
  linarith

end ManBalance
