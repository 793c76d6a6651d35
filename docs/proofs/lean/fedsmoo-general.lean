import Mathlib

/-!
# FedSMOO from zero duals

$\tfrac1T\sum_{t<T}\mathbb E\|\nabla f(\bar w^t)\|^2 \left(\frac{1}{2} - \frac{2 \kappa \left(\frac{L \beta}{2} + \frac{\alpha L^{2} \beta^{2} \left(2 + \theta\right)}{\theta^{2}}\right) + 2 L^{2} \beta^{2} \left(1 + \alpha \left(2 + \theta\right)\right)}{\left(1 - L \beta\right)^{2}}\right)\le\frac{(f(w^0)-f^*)}{T \beta}+\frac{\tfrac1m\sum_i\|\nabla f_i(w^0)\|^2 \alpha}{T \theta}+\epsilon^{2} \left(1 + \alpha \left(2 + \theta\right) + \frac{2 \kappa \left(\frac{L \beta}{2} + \frac{\alpha L^{2} \beta^{2} \left(2 + \theta\right)}{\theta^{2}}\right) + 2 L^{2} \beta^{2} \left(1 + \alpha \left(2 + \theta\right)\right)}{\left(1 - L \beta\right)^{2}}\right)$

Written from `docs/proofs/fedsmoo-general.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace FedsmooGeneral

/-- `moves`, rule: hypothesis; step size -/
def step_1 (L alpha beta theta : ℝ) : Prop :=
    0 ≤ ((-2) * L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 - L * beta + 1 : ℝ)

/-- `pays`, rule: hypothesis; step size -/
def step_2 (L alpha beta kappa theta : ℝ) : Prop :=
    0 ≤ (alpha * (theta + 1) / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2 : ℝ)

/-- `b < 1`, rule: hypothesis; beta L < 1 -/
def step_3 (L beta : ℝ) : Prop :=
    0 < ((-L) * beta + 1 : ℝ)

/-- `norm X`, rule: norm -/
theorem step_4
    {X beta : ℝ}
    (sign_X : 0 ≤ X)
    (sign_beta : 0 < beta)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G d dbar h : E}
    (named : X = ‖(beta : ℝ) • d + (-beta : ℝ) • dbar + (-beta : ℝ) • G + (-beta : ℝ) • h‖) :
    (X ^ 2 - beta ^ 2 * (⟪G, G⟫_ℝ) + 2 * beta ^ 2 * (⟪G, d⟫_ℝ) - 2 * beta ^ 2 * (⟪G, dbar⟫_ℝ) - 2 * beta ^ 2 * (⟪G, h⟫_ℝ) - beta ^ 2 * (⟪d, d⟫_ℝ) + 2 * beta ^ 2 * (⟪d, dbar⟫_ℝ) + 2 * beta ^ 2 * (⟪d, h⟫_ℝ) - beta ^ 2 * (⟪dbar, dbar⟫_ℝ) - 2 * beta ^ 2 * (⟪dbar, h⟫_ℝ) - beta ^ 2 * (⟪h, h⟫_ℝ) : ℝ) = 0 := by
  have same : (X ^ 2 - beta ^ 2 * (⟪G, G⟫_ℝ) + 2 * beta ^ 2 * (⟪G, d⟫_ℝ) - 2 * beta ^ 2 * (⟪G, dbar⟫_ℝ) - 2 * beta ^ 2 * (⟪G, h⟫_ℝ) - beta ^ 2 * (⟪d, d⟫_ℝ) + 2 * beta ^ 2 * (⟪d, dbar⟫_ℝ) + 2 * beta ^ 2 * (⟪d, h⟫_ℝ) - beta ^ 2 * (⟪dbar, dbar⟫_ℝ) - 2 * beta ^ 2 * (⟪dbar, h⟫_ℝ) - beta ^ 2 * (⟪h, h⟫_ℝ) : ℝ) = X ^ 2 - ⟪(beta : ℝ) • d + (-beta : ℝ) • dbar + (-beta : ℝ) • G + (-beta : ℝ) • h, (beta : ℝ) • d + (-beta : ℝ) • dbar + (-beta : ℝ) • G + (-beta : ℝ) • h⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G d, real_inner_comm G dbar, real_inner_comm G h, real_inner_comm d dbar, real_inner_comm d h, real_inner_comm dbar h]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm X_own`, rule: norm -/
theorem step_5
    {X_own : ℝ}
    (sign_X_own : 0 ≤ X_own)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {x_own : E}
    (named : X_own = ‖(1 : ℝ) • x_own‖) :
    (X_own ^ 2 - (⟪x_own, x_own⟫_ℝ) : ℝ) = 0 := by
  have same : (X_own ^ 2 - (⟪x_own, x_own⟫_ℝ) : ℝ) = X_own ^ 2 - ⟪(1 : ℝ) • x_own, (1 : ℝ) • x_own⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm Y`, rule: norm -/
theorem step_6
    {Y : ℝ}
    (sign_Y : 0 ≤ Y)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G d dbar : E}
    (named : Y = ‖(1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G‖) :
    (Y ^ 2 - (⟪G, G⟫_ℝ) + 2 * (⟪G, d⟫_ℝ) - 2 * (⟪G, dbar⟫_ℝ) - (⟪d, d⟫_ℝ) + 2 * (⟪d, dbar⟫_ℝ) - (⟪dbar, dbar⟫_ℝ) : ℝ) = 0 := by
  have same : (Y ^ 2 - (⟪G, G⟫_ℝ) + 2 * (⟪G, d⟫_ℝ) - 2 * (⟪G, dbar⟫_ℝ) - (⟪d, d⟫_ℝ) + 2 * (⟪d, dbar⟫_ℝ) - (⟪dbar, dbar⟫_ℝ) : ℝ) = Y ^ 2 - ⟪(1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G, (1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G d, real_inner_comm G dbar, real_inner_comm d dbar]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm H`, rule: norm -/
theorem step_7
    {H : ℝ}
    (sign_H : 0 ≤ H)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {h : E}
    (named : H = ‖(1 : ℝ) • h‖) :
    (H ^ 2 - (⟪h, h⟫_ℝ) : ℝ) = 0 := by
  have same : (H ^ 2 - (⟪h, h⟫_ℝ) : ℝ) = H ^ 2 - ⟪(1 : ℝ) • h, (1 : ℝ) • h⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm H_sum`, rule: norm -/
theorem step_8
    {H_sum : ℝ}
    (sign_H_sum : 0 ≤ H_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D_f e : E}
    (named : H_sum = ‖(1 : ℝ) • D_f + (1 : ℝ) • e‖) :
    (H_sum ^ 2 - (⟪D_f, D_f⟫_ℝ) - 2 * (⟪D_f, e⟫_ℝ) - (⟪e, e⟫_ℝ) : ℝ) = 0 := by
  have same : (H_sum ^ 2 - (⟪D_f, D_f⟫_ℝ) - 2 * (⟪D_f, e⟫_ℝ) - (⟪e, e⟫_ℝ) : ℝ) = H_sum ^ 2 - ⟪(1 : ℝ) • D_f + (1 : ℝ) • e, (1 : ℝ) • D_f + (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm D_f e]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm C`, rule: norm -/
theorem step_9
    {C : ℝ}
    (sign_C : 0 ≤ C)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D_f : E}
    (named : C = ‖(1 : ℝ) • D_f‖) :
    (C ^ 2 - (⟪D_f, D_f⟫_ℝ) : ℝ) = 0 := by
  have same : (C ^ 2 - (⟪D_f, D_f⟫_ℝ) : ℝ) = C ^ 2 - ⟪(1 : ℝ) • D_f, (1 : ℝ) • D_f⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm E`, rule: norm -/
theorem step_10
    {E : ℝ}
    (sign_E : 0 ≤ E)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {e : E}
    (named : E = ‖(1 : ℝ) • e‖) :
    (E ^ 2 - (⟪e, e⟫_ℝ) : ℝ) = 0 := by
  have same : (E ^ 2 - (⟪e, e⟫_ℝ) : ℝ) = E ^ 2 - ⟪(1 : ℝ) • e, (1 : ℝ) • e⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm M`, rule: norm -/
theorem step_11
    {M : ℝ}
    (sign_M : 0 ≤ M)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {move : E}
    (named : M = ‖(1 : ℝ) • move‖) :
    (M ^ 2 - (⟪move, move⟫_ℝ) : ℝ) = 0 := by
  have same : (M ^ 2 - (⟪move, move⟫_ℝ) : ℝ) = M ^ 2 - ⟪(1 : ℝ) • move, (1 : ℝ) • move⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm M_own`, rule: norm -/
theorem step_12
    {M_own : ℝ}
    (sign_M_own : 0 ≤ M_own)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {y_own : E}
    (named : M_own = ‖(1 : ℝ) • y_own‖) :
    (M_own ^ 2 - (⟪y_own, y_own⟫_ℝ) : ℝ) = 0 := by
  have same : (M_own ^ 2 - (⟪y_own, y_own⟫_ℝ) : ℝ) = M_own ^ 2 - ⟪(1 : ℝ) • y_own, (1 : ℝ) • y_own⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm S`, rule: norm -/
theorem step_13
    {S : ℝ}
    (sign_S : 0 ≤ S)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {g_own : E}
    (named : S = ‖(1 : ℝ) • g_own‖) :
    (S ^ 2 - (⟪g_own, g_own⟫_ℝ) : ℝ) = 0 := by
  have same : (S ^ 2 - (⟪g_own, g_own⟫_ℝ) : ℝ) = S ^ 2 - ⟪(1 : ℝ) • g_own, (1 : ℝ) • g_own⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `local model`, rule: hypothesis; x, one vector under two names -/
def step_14 (X X_own : ℝ) : Prop :=
    (-X + X_own : ℝ) = 0

/-- `mean model`, rule: hypothesis; the move, one vector under two names -/
def step_15 (M M_own : ℝ) : Prop :=
    (-M + M_own : ℝ) = 0

/-- `new dual`, rule: hypothesis; h = change of the gradient + e, two names -/
def step_16 (H H_sum : ℝ) : Prop :=
    (-H + H_sum : ℝ) = 0

/-- `eps`, rule: hypothesis; lambda_i^+ is grad f_i(w_i) up to eps -/
def step_17 (E eps : ℝ) : Prop :=
    0 ≤ (-E + eps : ℝ)

/-- `smooth at w_i`, rule: smooth gradient -/
def step_18 (C L X_own : ℝ) : Prop :=
    0 ≤ (-C + L * X_own : ℝ)

/-- `smooth at the mean`, rule: smooth gradient -/
def step_19 (L M_own S : ℝ) : Prop :=
    0 ≤ (L * M_own - S : ℝ)

/-- `h`, rule: triangle -/
theorem step_20
    {C E H_sum : ℝ}
    (sign_C : 0 ≤ C)
    (sign_E : 0 ≤ E)
    (sign_H_sum : 0 ≤ H_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {D_f e : E}
    (size_H_sum : H_sum = ‖(1 : ℝ) • D_f + (1 : ℝ) • e‖)
    (size_C : C = ‖(1 : ℝ) • D_f‖)
    (size_E : E = ‖(1 : ℝ) • e‖) :
    0 ≤ (C + E - H_sum : ℝ) := by
  have sum : (1 : ℝ) • D_f + (1 : ℝ) • e = (1 : ℝ) • ((1 : ℝ) • D_f) + (1 : ℝ) • ((1 : ℝ) • e) := by
    module
  have rule_1 := norm_add_le ((1 : ℝ) • ((1 : ℝ) • D_f)) ((1 : ℝ) • ((1 : ℝ) • e))
  have length_0 := norm_smul (1 : ℝ) ((1 : ℝ) • D_f)
  have length_1 := norm_smul (1 : ℝ) ((1 : ℝ) • e)
  have sign_of_0 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  have sign_of_1 := abs_of_nonneg (show (0 ≤ 1) from by positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_H_sum, size_C, size_E]
  nlinarith

/-- `x`, rule: triangle -/
theorem step_21
    {H X Y beta : ℝ}
    (sign_H : 0 ≤ H)
    (sign_X : 0 ≤ X)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G d dbar h : E}
    (size_X : X = ‖(beta : ℝ) • d + (-beta : ℝ) • dbar + (-beta : ℝ) • G + (-beta : ℝ) • h‖)
    (size_Y : Y = ‖(1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G‖)
    (size_H : H = ‖(1 : ℝ) • h‖) :
    0 ≤ (H * beta - X + Y * beta : ℝ) := by
  have sum : (beta : ℝ) • d + (-beta : ℝ) • dbar + (-beta : ℝ) • G + (-beta : ℝ) • h = (beta : ℝ) • ((1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G) + (-beta : ℝ) • ((1 : ℝ) • h) := by
    module
  have rule_1 := norm_add_le ((beta : ℝ) • ((1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G)) ((-beta : ℝ) • ((1 : ℝ) • h))
  have length_0 := norm_smul (beta : ℝ) ((1 : ℝ) • d + (-1 : ℝ) • dbar + (-1 : ℝ) • G)
  have length_1 := norm_smul (-beta : ℝ) ((1 : ℝ) • h)
  have sign_of_0 := abs_of_nonneg (show (0 ≤ beta) from by positivity)
  have sign_of_1 := abs_of_nonpos (show (-beta ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_X, size_Y, size_H]
  nlinarith

/-- `size of h`, rule: combination of step_14, step_16, step_17, step_18, step_20 -/
theorem step_22
    {C E H H_sum L X X_own eps : ℝ}
    (sign_C : 0 ≤ C)
    (sign_E : 0 ≤ E)
    (sign_H : 0 ≤ H)
    (sign_H_sum : 0 ≤ H_sum)
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_X_own : 0 ≤ X_own)
    (sign_eps : 0 ≤ eps)
    (step_14 : (-X + X_own : ℝ) = 0)
    (step_16 : (-H + H_sum : ℝ) = 0)
    (step_17 : 0 ≤ (-E + eps : ℝ))
    (step_18 : 0 ≤ (-C + L * X_own : ℝ))
    (step_20 : 0 ≤ (C + E - H_sum : ℝ)) :
    0 ≤ (-H + L * X + eps : ℝ) := by
  have same : (-H + L * X + eps : ℝ) = (1) * (C + E - H_sum : ℝ) + (1) * (-E + eps : ℝ) + (1) * (-C + L * X_own : ℝ) + (-L) * (-X + X_own : ℝ) + (1) * (-H + H_sum : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_20) (mul_nonneg (by positivity) step_17)) (mul_nonneg (by positivity) step_18)) (le_of_eq (by rw [step_14]; ring))) (le_of_eq (by rw [step_16]; ring)))

/-- `size of x`, rule: combination of step_21, step_22 -/
theorem step_23
    {H L X Y beta eps : ℝ}
    (sign_H : 0 ≤ H)
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (step_21 : 0 ≤ (H * beta - X + Y * beta : ℝ))
    (step_22 : 0 ≤ (-H + L * X + eps : ℝ)) :
    0 ≤ ((-X) * ((-L) * beta + 1) + beta * (Y + eps) : ℝ) := by
  have same : ((-X) * ((-L) * beta + 1) + beta * (Y + eps) : ℝ) = (1) * (H * beta - X + Y * beta : ℝ) + (beta) * (-H + L * X + eps : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_21) (mul_nonneg (by positivity) step_22))

/-- `G against d`, rule: mean over clients -/
def step_24 (dot_G_d dot_G_dbar : ℝ) : Prop :=
    (dot_G_d - dot_G_dbar : ℝ) = 0

/-- `dbar against d`, rule: mean over clients -/
def step_25 (dot_d_dbar dot_dbar_dbar : ℝ) : Prop :=
    (dot_d_dbar - dot_dbar_dbar : ℝ) = 0

/-- `mean of d`, rule: square -/
theorem step_26
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {dbar : E} :
    0 ≤ ((⟪dbar, dbar⟫_ℝ) : ℝ) := by
  have same : ((⟪dbar, dbar⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • dbar, (1 : ℝ) • dbar⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Y^2`, rule: combination of step_24, step_25, step_26, step_6 -/
theorem step_27
    {Y dot_G_G dot_G_d dot_G_dbar dot_d_d dot_d_dbar dot_dbar_dbar : ℝ}
    (sign_Y : 0 ≤ Y)
    (step_6 : (Y ^ 2 - dot_G_G + 2 * dot_G_d - 2 * dot_G_dbar - dot_d_d + 2 * dot_d_dbar - dot_dbar_dbar : ℝ) = 0)
    (step_24 : (dot_G_d - dot_G_dbar : ℝ) = 0)
    (step_25 : (dot_d_dbar - dot_dbar_dbar : ℝ) = 0)
    (step_26 : 0 ≤ (dot_dbar_dbar : ℝ)) :
    0 ≤ (-Y ^ 2 + dot_G_G + dot_d_d : ℝ) := by
  have same : (-Y ^ 2 + dot_G_G + dot_d_d : ℝ) = (-1) * (Y ^ 2 - dot_G_G + 2 * dot_G_d - 2 * dot_G_dbar - dot_d_d + 2 * dot_d_dbar - dot_dbar_dbar : ℝ) + (1) * (dot_dbar_dbar : ℝ) + (2) * (dot_G_d - dot_G_dbar : ℝ) + (2) * (dot_d_dbar - dot_dbar_dbar : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (le_of_eq (by rw [step_6]; ring)) (mul_nonneg (by positivity) step_26)) (le_of_eq (by rw [step_24]; ring))) (le_of_eq (by rw [step_25]; ring)))

/-- `Young in x`, rule: scalar square -/
theorem step_28
    {Y eps : ℝ}
    (sign_Y : 0 ≤ Y)
    (sign_eps : 0 ≤ eps) :
    0 ≤ ((Y - eps) ^ 2 : ℝ) := by
  have same : ((Y - eps) ^ 2 : ℝ) = (Y - eps : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `X^2`, rule: combination of step_23, step_27, step_28 -/
theorem step_29
    {L X Y beta dot_G_G dot_d_d eps : ℝ}
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_Y : 0 ≤ Y)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (step_23 : 0 ≤ ((-X) * ((-L) * beta + 1) + beta * (Y + eps) : ℝ))
    (step_27 : 0 ≤ (-Y ^ 2 + dot_G_G + dot_d_d : ℝ))
    (step_28 : 0 ≤ ((Y - eps) ^ 2 : ℝ))
    (step_3 : 0 < ((-L) * beta + 1 : ℝ)) :
    0 ≤ (-X ^ 2 + 2 * beta ^ 2 * (dot_G_G + dot_d_d + eps ^ 2) / ((-L) * beta + 1) ^ 2 : ℝ) := by
  have same : (-X ^ 2 + 2 * beta ^ 2 * (dot_G_G + dot_d_d + eps ^ 2) / ((-L) * beta + 1) ^ 2 : ℝ) = (X / ((-L) * beta + 1) + beta * (Y + eps) / ((-L) * beta + 1) ^ 2) * ((-X) * ((-L) * beta + 1) + beta * (Y + eps) : ℝ) + (beta ^ 2 / ((-L) * beta + 1) ^ 2) * ((Y - eps) ^ 2 : ℝ) + (2 * beta ^ 2 / ((-L) * beta + 1) ^ 2) * (-Y ^ 2 + dot_G_G + dot_d_d : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_23) (mul_nonneg (by positivity) step_28)) (mul_nonneg (by positivity) step_27))

/-- `Young in h`, rule: scalar square -/
theorem step_30
    {L X eps : ℝ}
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_eps : 0 ≤ eps) :
    0 ≤ ((L * X - eps) ^ 2 : ℝ) := by
  have same : ((L * X - eps) ^ 2 : ℝ) = (L * X - eps : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `H^2`, rule: combination of step_22, step_30 -/
theorem step_31
    {H L X eps : ℝ}
    (sign_H : 0 ≤ H)
    (sign_L : 0 < L)
    (sign_X : 0 ≤ X)
    (sign_eps : 0 ≤ eps)
    (step_22 : 0 ≤ (-H + L * X + eps : ℝ))
    (step_30 : 0 ≤ ((L * X - eps) ^ 2 : ℝ)) :
    0 ≤ (-H ^ 2 + 2 * L ^ 2 * X ^ 2 + 2 * eps ^ 2 : ℝ) := by
  have same : (-H ^ 2 + 2 * L ^ 2 * X ^ 2 + 2 * eps ^ 2 : ℝ) = (H + L * X + eps) * (-H + L * X + eps : ℝ) + (1) * ((L * X - eps) ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_22) (mul_nonneg (by positivity) step_30))

/-- `Jensen`, rule: square -/
theorem step_32
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {h hbar : E} :
    0 ≤ ((⟪h, h⟫_ℝ) - 2 * (⟪h, hbar⟫_ℝ) + (⟪hbar, hbar⟫_ℝ) : ℝ) := by
  have same : ((⟪h, h⟫_ℝ) - 2 * (⟪h, hbar⟫_ℝ) + (⟪hbar, hbar⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • h + (-1 : ℝ) • hbar, (1 : ℝ) • h + (-1 : ℝ) • hbar⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm h hbar]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `hbar is the mean of h`, rule: mean over clients -/
def step_33 (dot_h_hbar dot_hbar_hbar : ℝ) : Prop :=
    (dot_h_hbar - dot_hbar_hbar : ℝ) = 0

/-- `|hbar|^2`, rule: combination of step_32, step_33, step_7 -/
theorem step_34
    {H dot_h_h dot_h_hbar dot_hbar_hbar : ℝ}
    (sign_H : 0 ≤ H)
    (step_7 : (H ^ 2 - dot_h_h : ℝ) = 0)
    (step_32 : 0 ≤ (dot_h_h - 2 * dot_h_hbar + dot_hbar_hbar : ℝ))
    (step_33 : (dot_h_hbar - dot_hbar_hbar : ℝ) = 0) :
    0 ≤ (H ^ 2 - dot_hbar_hbar : ℝ) := by
  have same : (H ^ 2 - dot_hbar_hbar : ℝ) = (1) * (dot_h_h - 2 * dot_h_hbar + dot_hbar_hbar : ℝ) + (2) * (dot_h_hbar - dot_hbar_hbar : ℝ) + (1) * (H ^ 2 - dot_h_h : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_32) (le_of_eq (by rw [step_33]; ring))) (le_of_eq (by rw [step_7]; ring)))

/-- `cohort along G`, rule: sampled mean -/
def step_35 (beta dot_G_G dot_G_hbar dot_G_move : ℝ) : Prop :=
    (beta * dot_G_G + beta * dot_G_hbar + dot_G_move : ℝ) = 0

/-- `cohort`, rule: sampling without replacement -/
def step_36 (beta dot_G_G dot_G_d dot_G_dbar dot_G_h dot_G_hbar dot_d_d dot_d_dbar dot_d_h dot_dbar_dbar dot_dbar_h dot_h_h dot_hbar_hbar dot_move_move kappa : ℝ) : Prop :=
    ((-beta ^ 2) * dot_G_G - 2 * beta ^ 2 * dot_G_hbar - beta ^ 2 * dot_hbar_hbar + dot_move_move - kappa * ((-2) * beta ^ 2 * dot_G_d + 2 * beta ^ 2 * dot_G_dbar + 2 * beta ^ 2 * dot_G_h - 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_d_d - 2 * beta ^ 2 * dot_d_dbar - 2 * beta ^ 2 * dot_d_h + beta ^ 2 * dot_dbar_dbar + 2 * beta ^ 2 * dot_dbar_h + beta ^ 2 * dot_h_h - beta ^ 2 * dot_hbar_hbar) : ℝ) = 0

/-- `smoothness of f`, rule: smooth value -/
def step_37 (F F_next L dot_G_move dot_move_move : ℝ) : Prop :=
    0 ≤ (F - F_next + L * dot_move_move / 2 + dot_G_move : ℝ)

/-- `M^2`, rule: combination of step_11, step_36, step_4 -/
theorem step_38
    {M X beta dot_G_G dot_G_d dot_G_dbar dot_G_h dot_G_hbar dot_d_d dot_d_dbar dot_d_h dot_dbar_dbar dot_dbar_h dot_h_h dot_hbar_hbar dot_move_move kappa : ℝ}
    (sign_M : 0 ≤ M)
    (sign_X : 0 ≤ X)
    (sign_beta : 0 < beta)
    (sign_kappa : 0 ≤ kappa)
    (step_4 : (X ^ 2 - beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_d - 2 * beta ^ 2 * dot_G_dbar - 2 * beta ^ 2 * dot_G_h - beta ^ 2 * dot_d_d + 2 * beta ^ 2 * dot_d_dbar + 2 * beta ^ 2 * dot_d_h - beta ^ 2 * dot_dbar_dbar - 2 * beta ^ 2 * dot_dbar_h - beta ^ 2 * dot_h_h : ℝ) = 0)
    (step_11 : (M ^ 2 - dot_move_move : ℝ) = 0)
    (step_36 : ((-beta ^ 2) * dot_G_G - 2 * beta ^ 2 * dot_G_hbar - beta ^ 2 * dot_hbar_hbar + dot_move_move - kappa * ((-2) * beta ^ 2 * dot_G_d + 2 * beta ^ 2 * dot_G_dbar + 2 * beta ^ 2 * dot_G_h - 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_d_d - 2 * beta ^ 2 * dot_d_dbar - 2 * beta ^ 2 * dot_d_h + beta ^ 2 * dot_dbar_dbar + 2 * beta ^ 2 * dot_dbar_h + beta ^ 2 * dot_h_h - beta ^ 2 * dot_hbar_hbar) : ℝ) = 0) :
    (-M ^ 2 + X ^ 2 * kappa + (1 - kappa) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar) : ℝ) = 0 := by
  have same : (-M ^ 2 + X ^ 2 * kappa + (1 - kappa) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar) : ℝ) = (-1) * ((-beta ^ 2) * dot_G_G - 2 * beta ^ 2 * dot_G_hbar - beta ^ 2 * dot_hbar_hbar + dot_move_move - kappa * ((-2) * beta ^ 2 * dot_G_d + 2 * beta ^ 2 * dot_G_dbar + 2 * beta ^ 2 * dot_G_h - 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_d_d - 2 * beta ^ 2 * dot_d_dbar - 2 * beta ^ 2 * dot_d_h + beta ^ 2 * dot_dbar_dbar + 2 * beta ^ 2 * dot_dbar_h + beta ^ 2 * dot_h_h - beta ^ 2 * dot_hbar_hbar) : ℝ) + (-1) * (M ^ 2 - dot_move_move : ℝ) + (kappa) * (X ^ 2 - beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_d - 2 * beta ^ 2 * dot_G_dbar - 2 * beta ^ 2 * dot_G_h - beta ^ 2 * dot_d_d + 2 * beta ^ 2 * dot_d_dbar + 2 * beta ^ 2 * dot_d_h - beta ^ 2 * dot_dbar_dbar - 2 * beta ^ 2 * dot_dbar_h - beta ^ 2 * dot_h_h : ℝ) := by
    field_simp
    ring
  rw [same]
  rw [step_4, step_11, step_36]
  ring

/-- `drawn or not`, rule: drawn or not -/
def step_39 (dot_d_d dot_h_h dot_q_q theta : ℝ) : Prop :=
    ((-dot_d_d) * (1 - theta) - dot_h_h * theta + dot_q_q : ℝ) = 0

/-- `Young in d`, rule: square -/
theorem step_40
    {theta : ℝ}
    (sign_theta : 0 < theta)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {g_own q : E} :
    0 ≤ (4 * (⟪g_own, g_own⟫_ℝ) + 4 * (⟪g_own, q⟫_ℝ) * theta + (⟪q, q⟫_ℝ) * theta ^ 2 : ℝ) := by
  have same : (4 * (⟪g_own, g_own⟫_ℝ) + 4 * (⟪g_own, q⟫_ℝ) * theta + (⟪q, q⟫_ℝ) * theta ^ 2 : ℝ) = ⟪(theta : ℝ) • q + (2 : ℝ) • g_own, (theta : ℝ) • q + (2 : ℝ) • g_own⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm g_own q]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `S^2`, rule: combination of step_13, step_15, step_19 -/
theorem step_41
    {L M M_own S dot_g_own_g_own : ℝ}
    (sign_L : 0 < L)
    (sign_M : 0 ≤ M)
    (sign_M_own : 0 ≤ M_own)
    (sign_S : 0 ≤ S)
    (step_13 : (S ^ 2 - dot_g_own_g_own : ℝ) = 0)
    (step_15 : (-M + M_own : ℝ) = 0)
    (step_19 : 0 ≤ (L * M_own - S : ℝ)) :
    0 ≤ (L ^ 2 * M ^ 2 - dot_g_own_g_own : ℝ) := by
  have same : (L ^ 2 * M ^ 2 - dot_g_own_g_own : ℝ) = (L * M + S) * (L * M_own - S : ℝ) + ((-L) * (L * M + S)) * (-M + M_own : ℝ) + (1) * (S ^ 2 - dot_g_own_g_own : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_19) (le_of_eq (by rw [step_15]; ring))) (le_of_eq (by rw [step_13]; ring)))

/-- `new dual error`, rule: combination of step_39, step_40, step_41, step_7 -/
theorem step_42
    {H L M dot_d_d dot_g_own_g_own dot_g_own_q dot_h_h dot_q_q theta : ℝ}
    (sign_H : 0 ≤ H)
    (sign_L : 0 < L)
    (sign_M : 0 ≤ M)
    (sign_theta : 0 < theta)
    (step_7 : (H ^ 2 - dot_h_h : ℝ) = 0)
    (step_39 : ((-dot_d_d) * (1 - theta) - dot_h_h * theta + dot_q_q : ℝ) = 0)
    (step_40 : 0 ≤ (4 * dot_g_own_g_own + 4 * dot_g_own_q * theta + dot_q_q * theta ^ 2 : ℝ))
    (step_41 : 0 ≤ (L ^ 2 * M ^ 2 - dot_g_own_g_own : ℝ)) :
    0 ≤ (L ^ 2 * M ^ 2 * (1 + 2 / theta) - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q + (theta / 2 + 1) * (H ^ 2 * theta + dot_d_d * (1 - theta)) : ℝ) := by
  have same : (L ^ 2 * M ^ 2 * (1 + 2 / theta) - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q + (theta / 2 + 1) * (H ^ 2 * theta + dot_d_d * (1 - theta)) : ℝ) = (1 / (2 * theta)) * (4 * dot_g_own_g_own + 4 * dot_g_own_q * theta + dot_q_q * theta ^ 2 : ℝ) + ((-theta) / 2 - 1) * ((-dot_d_d) * (1 - theta) - dot_h_h * theta + dot_q_q : ℝ) + (theta * (theta / 2 + 1)) * (H ^ 2 - dot_h_h : ℝ) + (1 + 2 / theta) * (L ^ 2 * M ^ 2 - dot_g_own_g_own : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_40) (le_of_eq (by rw [step_39]; ring))) (le_of_eq (by rw [step_7]; ring))) (mul_nonneg (by positivity) step_41))

/-- `dual error`, rule: square -/
theorem step_43
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {d : E} :
    0 ≤ ((⟪d, d⟫_ℝ) : ℝ) := by
  have same : ((⟪d, d⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • d, (1 : ℝ) • d⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `mean move`, rule: square -/
theorem step_44
    {beta : ℝ}
    (sign_beta : 0 < beta)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G hbar : E} :
    0 ≤ (beta ^ 2 * (⟪G, G⟫_ℝ) + 2 * beta ^ 2 * (⟪G, hbar⟫_ℝ) + beta ^ 2 * (⟪hbar, hbar⟫_ℝ) : ℝ) := by
  have same : (beta ^ 2 * (⟪G, G⟫_ℝ) + 2 * beta ^ 2 * (⟪G, hbar⟫_ℝ) + beta ^ 2 * (⟪hbar, hbar⟫_ℝ) : ℝ) = ⟪(-beta : ℝ) • G + (-beta : ℝ) • hbar, (-beta : ℝ) • G + (-beta : ℝ) • hbar⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G hbar]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `one round`, rule: combination of step_1, step_11, step_2, step_29, step_31, step_34, step_35, step_37, step_38, step_42, step_43, step_44 -/
theorem step_45
    {F F_next H L M X alpha beta dot_G_G dot_G_hbar dot_G_move dot_d_d dot_g_own_g_own dot_g_own_q dot_hbar_hbar dot_move_move dot_q_q eps kappa theta : ℝ}
    (sign_H : 0 ≤ H)
    (sign_L : 0 < L)
    (sign_M : 0 ≤ M)
    (sign_X : 0 ≤ X)
    (sign_alpha : 0 < alpha)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (sign_kappa : 0 ≤ kappa)
    (sign_theta : 0 < theta)
    (step_1 : 0 ≤ ((-2) * L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 - L * beta + 1 : ℝ))
    (step_2 : 0 ≤ (alpha * (theta + 1) / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2 : ℝ))
    (step_11 : (M ^ 2 - dot_move_move : ℝ) = 0)
    (step_29 : 0 ≤ (-X ^ 2 + 2 * beta ^ 2 * (dot_G_G + dot_d_d + eps ^ 2) / ((-L) * beta + 1) ^ 2 : ℝ))
    (step_31 : 0 ≤ (-H ^ 2 + 2 * L ^ 2 * X ^ 2 + 2 * eps ^ 2 : ℝ))
    (step_34 : 0 ≤ (H ^ 2 - dot_hbar_hbar : ℝ))
    (step_35 : (beta * dot_G_G + beta * dot_G_hbar + dot_G_move : ℝ) = 0)
    (step_37 : 0 ≤ (F - F_next + L * dot_move_move / 2 + dot_G_move : ℝ))
    (step_38 : (-M ^ 2 + X ^ 2 * kappa + (1 - kappa) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar) : ℝ) = 0)
    (step_42 : 0 ≤ (L ^ 2 * M ^ 2 * (1 + 2 / theta) - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q + (theta / 2 + 1) * (H ^ 2 * theta + dot_d_d * (1 - theta)) : ℝ))
    (step_43 : 0 ≤ (dot_d_d : ℝ))
    (step_44 : 0 ≤ (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar : ℝ))
    (step_3 : 0 < ((-L) * beta + 1 : ℝ)) :
    0 ≤ (F - F_next + alpha * beta * (dot_d_d - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q) / theta - beta * (dot_G_G * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) := by
  have same : (F - F_next + alpha * beta * (dot_d_d - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q) / theta - beta * (dot_G_G * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) = (1) * (F - F_next + L * dot_move_move / 2 + dot_G_move : ℝ) + (-1) * (beta * dot_G_G + beta * dot_G_hbar + dot_G_move : ℝ) + (L / 2) * (M ^ 2 - dot_move_move : ℝ) + (L ^ 2 * alpha * beta * (theta + 2) / theta ^ 2 + L / 2) * (-M ^ 2 + X ^ 2 * kappa + (1 - kappa) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar) : ℝ) + (alpha * beta / theta) * (L ^ 2 * M ^ 2 * (1 + 2 / theta) - dot_g_own_g_own + 2 * dot_g_own_q - dot_q_q + (theta / 2 + 1) * (H ^ 2 * theta + dot_d_d * (1 - theta)) : ℝ) + (beta / 2) * (H ^ 2 - dot_hbar_hbar : ℝ) + (alpha * beta * (theta / 2 + 1) + beta / 2) * (-H ^ 2 + 2 * L ^ 2 * X ^ 2 + 2 * eps ^ 2 : ℝ) + ((L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / beta) * (-X ^ 2 + 2 * beta ^ 2 * (dot_G_G + dot_d_d + eps ^ 2) / ((-L) * beta + 1) ^ 2 : ℝ) + (1 / (2 * beta)) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar : ℝ) * ((-2) * L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 - L * beta + 1 : ℝ) + (kappa * (L ^ 2 * alpha * beta * (theta + 2) / theta ^ 2 + L / 2)) * (beta ^ 2 * dot_G_G + 2 * beta ^ 2 * dot_G_hbar + beta ^ 2 * dot_hbar_hbar : ℝ) + (beta) * (dot_d_d : ℝ) * (alpha * (theta + 1) / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_37) (le_of_eq (by rw [step_35]; ring))) (le_of_eq (by rw [step_11]; ring))) (le_of_eq (by rw [step_38]; ring))) (mul_nonneg (by positivity) step_42)) (mul_nonneg (by positivity) step_34)) (mul_nonneg (by positivity) step_31)) (mul_nonneg (by positivity) step_29)) (mul_nonneg (mul_nonneg (by positivity) step_44) step_1)) (mul_nonneg (by positivity) step_44)) (mul_nonneg (mul_nonneg (by positivity) step_43) step_2))

/-- `after t rounds`, rule: loop of step_45 -/
theorem step_46
    {D_0 F_0 L alpha beta eps kappa theta : ℝ}
    {F F_next G_sum dot_G_G dot_d_d dot_g_own_g_own dot_g_own_q dot_q_q t : ℕ → ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_G_sum : ∀ j, 0 ≤ G_sum j)
    (sign_L : 0 < L)
    (sign_alpha : 0 < alpha)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (sign_kappa : 0 ≤ kappa)
    (sign_t : ∀ j, 0 ≤ t j)
    (sign_theta : 0 < theta)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_F : F 0 = (F_0 : ℝ))
    (turn_F : ∀ j, F (j + 1) = ((F_next j) : ℝ))
    (start_dot_d_d : dot_d_d 0 = (D_0 : ℝ))
    (turn_dot_d_d : ∀ j, dot_d_d (j + 1) = ((dot_g_own_g_own j) - 2 * (dot_g_own_q j) + (dot_q_q j) : ℝ))
    (start_G_sum : G_sum 0 = (0 : ℝ))
    (turn_G_sum : ∀ j, G_sum (j + 1) = ((G_sum j) + (dot_G_G j) : ℝ))
    (step_45 : ∀ j, 0 ≤ ((F j) - (F_next j) + alpha * beta * ((dot_d_d j) - (dot_g_own_g_own j) + 2 * (dot_g_own_q j) - (dot_q_q j)) / theta - beta * ((dot_G_G j) * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ)) :
    ∀ j, 0 ≤ (-(F j) + F_0 + alpha * beta * (D_0 - (dot_d_d j)) / theta - beta * ((G_sum j) * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (t j) * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_F, start_dot_d_d, start_G_sum]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : (-(F (j + 1)) + F_0 + alpha * beta * (D_0 - (dot_d_d (j + 1))) / theta - beta * ((G_sum (j + 1)) * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (t (j + 1)) * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) = (1) * (-(F j) + F_0 + alpha * beta * (D_0 - (dot_d_d j)) / theta - beta * ((G_sum j) * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (t j) * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) + (1) * ((F j) - (F_next j) + alpha * beta * ((dot_d_d j) - (dot_g_own_g_own j) + 2 * (dot_g_own_q j) - (dot_q_q j)) / theta - beta * ((dot_G_G j) * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) := by
        rw [turn_t, turn_F, turn_dot_d_d, turn_G_sum]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_45 j)))

/-- `after T rounds`, rule: instance of step_46 -/
theorem step_47
    {D_0 F F_0 G_sum L T alpha beta dot_d_d eps kappa t theta : ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_alpha : 0 < alpha)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (sign_kappa : 0 ≤ kappa)
    (sign_t : 0 ≤ t)
    (sign_theta : 0 < theta)
    (step_46 : 0 ≤ (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * t * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - T * eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) := by
  have same : (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - T * eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) = (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - eps ^ 2 * t * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_46

/-- `f is bounded below`, rule: hypothesis; f(wbar^T) >= f^* -/
def step_48 (F F_star : ℝ) : Prop :=
    0 ≤ (F - F_star : ℝ)

/-- `Gamma`, rule: hypothesis; Gamma names the mean over the rounds -/
def step_49 (G_sum Gamma T : ℝ) : Prop :=
    ((-G_sum) / T + Gamma : ℝ) = 0

/-- `Delta`, rule: hypothesis; Delta names f(w^0) - f^* -/
def step_50 (Delta F_0 F_star : ℝ) : Prop :=
    (Delta - F_0 + F_star : ℝ) = 0

/-- `rate`, rule: combination of step_43, step_47, step_48, step_49, step_50 -/
theorem step_51
    {D_0 Delta F F_0 F_star G_sum Gamma L T alpha beta dot_d_d eps kappa theta : ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_Delta : 0 ≤ Delta)
    (sign_G_sum : 0 ≤ G_sum)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_alpha : 0 < alpha)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (sign_kappa : 0 ≤ kappa)
    (sign_theta : 0 < theta)
    (step_43 : 0 ≤ (dot_d_d : ℝ))
    (step_47 : 0 ≤ (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - T * eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ))
    (step_48 : 0 ≤ (F - F_star : ℝ))
    (step_49 : ((-G_sum) / T + Gamma : ℝ) = 0)
    (step_50 : (Delta - F_0 + F_star : ℝ) = 0)
    (step_3 : 0 < ((-L) * beta + 1 : ℝ)) :
    0 ≤ (D_0 * alpha / (T * theta) + Delta / (T * beta) - Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) := by
  have same : (D_0 * alpha / (T * theta) + Delta / (T * beta) - Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) = (1 / (T * beta)) * (-F + F_0 + alpha * beta * (D_0 - dot_d_d) / theta - beta * (G_sum * ((-4) * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) - 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) - 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 1 / 2) - T * eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2)) : ℝ) + (1 / (T * beta)) * (F - F_star : ℝ) + (1 / (T * beta)) * (Delta - F_0 + F_star : ℝ) + (4 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta ^ 2 - 2 * L * beta * theta ^ 2 + theta ^ 2) + 2 * L ^ 2 * alpha * beta ^ 2 * kappa / (L ^ 2 * beta ^ 2 * theta - 2 * L * beta * theta + theta) + 2 * L ^ 2 * alpha * beta ^ 2 * theta / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 4 * L ^ 2 * alpha * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + 2 * L ^ 2 * beta ^ 2 / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) + L * beta * kappa / (L ^ 2 * beta ^ 2 - 2 * L * beta + 1) - 1 / 2) * ((-G_sum) / T + Gamma : ℝ) + (alpha / (T * theta)) * (dot_d_d : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_47) (mul_nonneg (by positivity) step_48)) (le_of_eq (by rw [step_50]; ring))) (le_of_eq (by rw [step_49]; ring))) (mul_nonneg (by positivity) step_43))

/-- The statement of `fedsmoo-general`, of step_51 -/
theorem conclusion
    {D_0 Delta Gamma L T alpha beta eps kappa theta : ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_Delta : 0 ≤ Delta)
    (sign_Gamma : 0 ≤ Gamma)
    (sign_L : 0 < L)
    (sign_T : 0 < T)
    (sign_alpha : 0 < alpha)
    (sign_beta : 0 < beta)
    (sign_eps : 0 ≤ eps)
    (sign_kappa : 0 ≤ kappa)
    (sign_theta : 0 < theta)
    (step_51 : 0 ≤ (D_0 * alpha / (T * theta) + Delta / (T * beta) - Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ)) :
    (Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) ≤ (Delta / (T * beta) + D_0 * alpha / (T * theta) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) := by
  have same : (Delta / (T * beta) + D_0 * alpha / (T * theta) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) - (Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) = (D_0 * alpha / (T * theta) + Delta / (T * beta) - Gamma * (1 / 2 - (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) + eps ^ 2 * (alpha * (theta + 2) + 1 + (2 * L ^ 2 * beta ^ 2 * (alpha * (theta + 2) + 1) + 2 * kappa * (L ^ 2 * alpha * beta ^ 2 * (theta + 2) / theta ^ 2 + L * beta / 2)) / ((-L) * beta + 1) ^ 2) : ℝ) := by
    field_simp
    ring
  linarith

end FedsmooGeneral
