import Mathlib

/-!
# FedAvg with inexact local gradients, F strongly convex, steps that decrease as 1/t

$\mathbb EF(w^T)-F^*\le\frac{\|w^0-w^*\|^2 L \gamma \left(1 + \gamma\right)}{2 \left(T + \gamma\right) \left(1 + T + \gamma\right)}+\frac{4 L T \sigma_l^{2}}{E N \mu^{2} \left(T + \gamma\right) \left(1 + T + \gamma\right)}+\frac{4 \kappa L T \left(\sigma_g^{2} + \frac{\sigma_l^{2}}{E}\right)}{\mu^{2} \left(T + \gamma\right) \left(1 + T + \gamma\right)}+\frac{250 T \sigma_g^{2} L^{3} \left(1 - \frac{1}{E}\right)^{2}}{9 \mu^{4} \left(2 + \gamma\right) \left(T + \gamma\right) \left(1 + T + \gamma\right)}+\frac{T \sigma_l^{2} L^{3} \left(\frac{500}{9} - \frac{500}{9 E}\right)}{E \mu^{4} \left(2 + \gamma\right) \left(T + \gamma\right) \left(1 + T + \gamma\right)}+\frac{275 \rho^{2} L^{3}}{144 \mu^{2}}$

Written from `docs/proofs/inexact-gradients-strongly-convex.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace InexactGradientsStronglyConvex

/-- `gamma + 2 >= 20 L/mu`, rule: hypothesis; first step -/
def step_1 (L gamma mu : ℝ) : Prop :=
    0 ≤ ((-20) * L + mu * (gamma + 2) : ℝ)

/-- `local steps`, rule: hypothesis; 24 L x^2 <= mu at the first step -/
def step_2 (L gamma more mu : ℝ) : Prop :=
    0 ≤ ((-96) * L ^ 3 * more ^ 2 + mu ^ 3 * (gamma + 2) ^ 2 * (more + 1) ^ 2 : ℝ)

/-- `mu <= L`, rule: hypothesis; strong convexity and smoothness of one F -/
def step_3 (L mu : ℝ) : Prop :=
    0 ≤ (L - mu : ℝ)

/-- `kappa <= 1`, rule: hypothesis; (N-S)/(S(N-1)) is at most 1 -/
def step_4 (kappa : ℝ) : Prop :=
    0 ≤ (1 - kappa : ℝ)

/-- `L A <= 1/10`, rule: combination of step_1 -/
theorem step_5
    {L gamma mu t : ℝ}
    (sign_L : 0 < L)
    (sign_gamma : 0 < gamma)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (step_1 : 0 ≤ ((-20) * L + mu * (gamma + 2) : ℝ)) :
    0 ≤ ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) := by
  have same : ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) = (1 / (10 * mu * (gamma + t + 2))) * ((-20) * L + mu * (gamma + 2) : ℝ) + (t / (10 * gamma + 10 * t + 20)) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_1) (by positivity))

/-- `x <= 1/10`, rule: combination of step_5 -/
theorem step_6
    {L gamma more mu t : ℝ}
    (sign_L : 0 < L)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (step_5 : 0 ≤ ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ)) :
    0 ≤ ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1 / 10 : ℝ) := by
  have same : ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1 / 10 : ℝ) = (1) * ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) + (2 * L / (mu * (more + 1) * (gamma + t + 2))) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_5) (by positivity))

/-- `24 L x^2 <= mu`, rule: combination of step_2 -/
theorem step_7
    {L gamma more mu t : ℝ}
    (sign_L : 0 < L)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (step_2 : 0 ≤ ((-96) * L ^ 3 * more ^ 2 + mu ^ 3 * (gamma + 2) ^ 2 * (more + 1) ^ 2 : ℝ)) :
    0 ≤ ((-96) * L ^ 3 * more ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + mu : ℝ) := by
  have same : ((-96) * L ^ 3 * more ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + mu : ℝ) = (1 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2)) * ((-96) * L ^ 3 * more ^ 2 + mu ^ 3 * (gamma + 2) ^ 2 * (more + 1) ^ 2 : ℝ) + (mu * t * (2 * gamma + t + 4) / (gamma + t + 2) ^ 2) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_2) (by positivity))

/-- `norm dist`, rule: norm -/
theorem step_8
    {dist : ℝ}
    (sign_dist : 0 ≤ dist)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {o : E}
    (named : dist = ‖(1 : ℝ) • o‖) :
    (dist ^ 2 - (⟪o, o⟫_ℝ) : ℝ) = 0 := by
  have same : (dist ^ 2 - (⟪o, o⟫_ℝ) : ℝ) = dist ^ 2 - ⟪(1 : ℝ) • o, (1 : ℝ) • o⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm dist_next`, rule: norm -/
theorem step_9
    {dist_next gamma mu t : ℝ}
    (sign_dist_next : 0 ≤ dist_next)
    (sign_gamma : 0 < gamma)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {d o : E}
    (named : dist_next = ‖(1 : ℝ) • o + ((-2) / (mu * (gamma + t + 2)) : ℝ) • d‖) :
    (dist_next ^ 2 - 4 * (⟪d, d⟫_ℝ) / (mu ^ 2 * (gamma + t + 2) ^ 2) + 4 * (⟪d, o⟫_ℝ) / (mu * (gamma + t + 2)) - (⟪o, o⟫_ℝ) : ℝ) = 0 := by
  have same : (dist_next ^ 2 - 4 * (⟪d, d⟫_ℝ) / (mu ^ 2 * (gamma + t + 2) ^ 2) + 4 * (⟪d, o⟫_ℝ) / (mu * (gamma + t + 2)) - (⟪o, o⟫_ℝ) : ℝ) = dist_next ^ 2 - ⟪(1 : ℝ) • o + ((-2) / (mu * (gamma + t + 2)) : ℝ) • d, (1 : ℝ) • o + ((-2) / (mu * (gamma + t + 2)) : ℝ) • d⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm d o]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `norm p`, rule: norm -/
theorem step_10
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
theorem step_11
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
theorem step_12
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
theorem step_13
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
theorem step_14
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
theorem step_15
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
theorem step_16
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
theorem step_17
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
theorem step_18
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
theorem step_19
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
theorem step_20
    {gamma more mu t y_sum : ℝ}
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (named : y_sum = ‖((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • P_k + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • Q_k‖) :
    ((-4) * (⟪P_k, P_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - 8 * (⟪P_k, Q_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - 4 * (⟪Q_k, Q_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + y_sum ^ 2 : ℝ) = 0 := by
  have same : ((-4) * (⟪P_k, P_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - 8 * (⟪P_k, Q_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - 4 * (⟪Q_k, Q_k⟫_ℝ) / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + y_sum ^ 2 : ℝ) = y_sum ^ 2 - ⟪((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • P_k + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • Q_k, ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • P_k + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • Q_k⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm P_k Q_k]
    ring
  rw [same]
  rw [named, real_inner_self_eq_norm_sq]
  ring

/-- `error`, rule: hypothesis; |e_k| <= L rho -/
def step_21 (L rho size_e : ℝ) : Prop :=
    0 ≤ (L * rho - size_e : ℝ)

/-- `local model`, rule: hypothesis; x_k = -eta (P_k + Q_k), one vector, two names -/
def step_22 (y y_sum : ℝ) : Prop :=
    (-y + y_sum : ℝ) = 0

/-- `smooth`, rule: smooth gradient -/
def step_23 (L size_D y : ℝ) : Prop :=
    0 ≤ (L * y - size_D : ℝ)

/-- `P_k next`, rule: triangle -/
theorem step_24
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
theorem step_25
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
theorem step_26
    {gamma more mu p q t y_sum : ℝ}
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_t : 0 ≤ t)
    (sign_y_sum : 0 ≤ y_sum)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {P_k Q_k : E}
    (size_y_sum : y_sum = ‖((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • P_k + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • Q_k‖)
    (size_p : p = ‖(1 : ℝ) • P_k‖)
    (size_q : q = ‖(1 : ℝ) • Q_k‖) :
    0 ≤ (-y_sum + 2 * p / (mu * (more + 1) * (gamma + t + 2)) + 2 * q / (mu * (more + 1) * (gamma + t + 2)) : ℝ) := by
  have sum : ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • P_k + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • Q_k = ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • ((1 : ℝ) • P_k) + ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • ((1 : ℝ) • Q_k) := by
    module
  have rule_1 := norm_add_le (((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • ((1 : ℝ) • P_k)) (((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) • ((1 : ℝ) • Q_k))
  have length_0 := norm_smul ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) ((1 : ℝ) • P_k)
  have length_1 := norm_smul ((-2) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) ((1 : ℝ) • Q_k)
  have sign_of_0 := abs_of_nonpos (show ((-2) / (mu * (more + 1) * (gamma + t + 2)) ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  have sign_of_1 := abs_of_nonpos (show ((-2) / (mu * (more + 1) * (gamma + t + 2)) ≤ 0) from by rw [← neg_nonneg]; ring_nf; positivity)
  rw [← sum] at *
  simp only [Real.norm_eq_abs] at *
  rw [size_y_sum, size_p, size_q]
  nlinarith

/-- `P grows`, rule: combination of step_21, step_23, step_24 -/
theorem step_27
    {L g p p_next rho size_D size_e y : ℝ}
    (sign_L : 0 < L)
    (sign_g : 0 ≤ g)
    (sign_p : 0 ≤ p)
    (sign_p_next : 0 ≤ p_next)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_y : 0 ≤ y)
    (step_21 : 0 ≤ (L * rho - size_e : ℝ))
    (step_23 : 0 ≤ (L * y - size_D : ℝ))
    (step_24 : 0 ≤ (g + p - p_next + size_D + size_e : ℝ)) :
    0 ≤ (L * rho + L * y + g + p - p_next : ℝ) := by
  have same : (L * rho + L * y + g + p - p_next : ℝ) = (1) * (g + p - p_next + size_D + size_e : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_24) (mul_nonneg (by positivity) step_23)) (mul_nonneg (by positivity) step_21))

/-- `R grows`, rule: combination of step_21, step_23, step_25 -/
theorem step_28
    {L rho size_D size_e v v_next y : ℝ}
    (sign_L : 0 < L)
    (sign_rho : 0 ≤ rho)
    (sign_size_D : 0 ≤ size_D)
    (sign_size_e : 0 ≤ size_e)
    (sign_v : 0 ≤ v)
    (sign_v_next : 0 ≤ v_next)
    (sign_y : 0 ≤ y)
    (step_21 : 0 ≤ (L * rho - size_e : ℝ))
    (step_23 : 0 ≤ (L * y - size_D : ℝ))
    (step_25 : 0 ≤ (size_D + size_e + v - v_next : ℝ)) :
    0 ≤ (L * rho + L * y + v - v_next : ℝ) := by
  have same : (L * rho + L * y + v - v_next : ℝ) = (1) * (size_D + size_e + v - v_next : ℝ) + (1) * (L * y - size_D : ℝ) + (1) * (L * rho - size_e : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_25) (mul_nonneg (by positivity) step_23)) (mul_nonneg (by positivity) step_21))

/-- `x from P and Q`, rule: combination of step_22, step_26 -/
theorem step_29
    {gamma more mu p q t y y_sum : ℝ}
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_p : 0 ≤ p)
    (sign_q : 0 ≤ q)
    (sign_t : 0 ≤ t)
    (sign_y : 0 ≤ y)
    (sign_y_sum : 0 ≤ y_sum)
    (step_22 : (-y + y_sum : ℝ) = 0)
    (step_26 : 0 ≤ (-y_sum + 2 * p / (mu * (more + 1) * (gamma + t + 2)) + 2 * q / (mu * (more + 1) * (gamma + t + 2)) : ℝ)) :
    0 ≤ (-y + 2 * (p + q) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) := by
  have same : (-y + 2 * (p + q) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) = (1) * (-y_sum + 2 * p / (mu * (more + 1) * (gamma + t + 2)) + 2 * q / (mu * (more + 1) * (gamma + t + 2)) : ℝ) + (1) * (-y + y_sum : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_26) (le_of_eq (by rw [step_22]; ring)))

/-- `noise`, rule: hypothesis; E|zeta_k|^2 <= sigma_l^2 -/
def step_30 (dot_zeta_zeta sigma_l : ℝ) : Prop :=
    0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ)

/-- `noise is unbiased`, rule: unbiased -/
def step_31 (dot_Q_k_zeta : ℝ) : Prop :=
    (dot_Q_k_zeta : ℝ) = 0

/-- `Q grows`, rule: combination of step_15, step_16, step_30, step_31 -/
theorem step_32
    {dot_Q_k_Q_k dot_Q_k_zeta dot_zeta_zeta q q_next sigma_l : ℝ}
    (sign_q : 0 ≤ q)
    (sign_q_next : 0 ≤ q_next)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_15 : (-dot_Q_k_Q_k + q ^ 2 : ℝ) = 0)
    (step_16 : (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) = 0)
    (step_30 : 0 ≤ (-dot_zeta_zeta + sigma_l ^ 2 : ℝ))
    (step_31 : (dot_Q_k_zeta : ℝ) = 0) :
    0 ≤ (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) := by
  have same : (q ^ 2 - q_next ^ 2 + sigma_l ^ 2 : ℝ) = (1) * (-dot_Q_k_Q_k + q ^ 2 : ℝ) + (-1) * (-dot_Q_k_Q_k - 2 * dot_Q_k_zeta - dot_zeta_zeta + q_next ^ 2 : ℝ) + (1) * (-dot_zeta_zeta + sigma_l ^ 2 : ℝ) + (-2) * (dot_Q_k_zeta : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (le_of_eq (by rw [step_15]; ring)) (le_of_eq (by rw [step_16]; ring))) (mul_nonneg (by positivity) step_30)) (le_of_eq (by rw [step_31]; ring)))

/-- `distance of q from c`, rule: scalar square -/
theorem step_33
    {c q : ℝ}
    (sign_q : 0 ≤ q) :
    0 ≤ ((-c + q) ^ 2 : ℝ) := by
  have same : ((-c + q) ^ 2 : ℝ) = (-c + q : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `p after k`, rule: loop of step_27, step_28, step_29, step_32, step_33 -/
theorem step_34
    {L c g gamma more mu rho sigma_l t : ℝ}
    {C SP SQ Y k p p_next q q_next v v_next y : ℕ → ℝ}
    (sign_C : ∀ j, 0 ≤ C j)
    (sign_L : 0 < L)
    (sign_SP : ∀ j, 0 ≤ SP j)
    (sign_SQ : ∀ j, 0 ≤ SQ j)
    (sign_Y : ∀ j, 0 ≤ Y j)
    (sign_g : 0 ≤ g)
    (sign_gamma : 0 < gamma)
    (sign_k : ∀ j, 0 ≤ k j)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_p : ∀ j, 0 ≤ p j)
    (sign_p_next : ∀ j, 0 ≤ p_next j)
    (sign_q : ∀ j, 0 ≤ q j)
    (sign_q_next : ∀ j, 0 ≤ q_next j)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
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
    (step_27 : ∀ j, 0 ≤ (L * rho + L * (y j) + g + (p j) - (p_next j) : ℝ))
    (step_28 : ∀ j, 0 ≤ (L * rho + L * (y j) + (v j) - (v_next j) : ℝ))
    (step_29 : ∀ j, 0 ≤ (-(y j) + 2 * ((p j) + (q j)) / (mu * (more + 1) * (gamma + t + 2)) : ℝ))
    (step_32 : ∀ j, 0 ≤ ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ))
    (step_33 : ∀ j, 0 ≤ ((-c + (q j)) ^ 2 : ℝ)) :
    ∀ j, 0 ≤ (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) ∧ 0 ≤ (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) ∧ 0 ≤ (-(Y j) + 2 * ((C j) + (SP j)) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) ∧ 0 ≤ ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) ∧ 0 ≤ (-(SQ j) + (k j) * sigma_l ^ 2 * ((k j) - 1) / 2 : ℝ) ∧ 0 ≤ ((-2) * (C j) * c + (SQ j) + c ^ 2 * (k j) : ℝ) ∧ 0 ≤ (L * (Y j) + L * (k j) * rho - (v j) : ℝ) := by
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
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_27 j)))
    · have same : (L * (Y (j + 1)) * ((k (j + 1)) - 1) - (SP (j + 1)) + (k (j + 1)) * ((k (j + 1)) - 1) * (L * rho + g) / 2 : ℝ) = (1) * (L * (Y j) * ((k j) - 1) - (SP j) + (k j) * ((k j) - 1) * (L * rho + g) / 2 : ℝ) + (1) * (L * (Y j) + (k j) * (L * rho + g) - (p j) : ℝ) + (L * (k j) * (y j)) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) kept_2) (mul_nonneg (by positivity) kept_1)) (by positivity))
    · have same : (-(Y (j + 1)) + 2 * ((C (j + 1)) + (SP (j + 1))) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) = (1) * (-(Y j) + 2 * ((C j) + (SP j)) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) + (1) * (-(y j) + 2 * ((p j) + (q j)) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_3) (mul_nonneg (by positivity) (step_29 j)))
    · have same : ((k (j + 1)) * sigma_l ^ 2 - (q (j + 1)) ^ 2 : ℝ) = (1) * ((k j) * sigma_l ^ 2 - (q j) ^ 2 : ℝ) + (1) * ((q j) ^ 2 - (q_next j) ^ 2 + sigma_l ^ 2 : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_4) (mul_nonneg (by positivity) (step_32 j)))
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
      exact (add_nonneg (mul_nonneg (by positivity) kept_6) (mul_nonneg (by positivity) (step_33 j)))
    · have same : (L * (Y (j + 1)) + L * (k (j + 1)) * rho - (v (j + 1)) : ℝ) = (1) * (L * (Y j) + L * (k j) * rho - (v j) : ℝ) + (1) * (L * rho + L * (y j) + (v j) - (v_next j) : ℝ) := by
        rw [turn_k, turn_Y, turn_SP, turn_SQ, turn_C, turn_p, turn_q, turn_v]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_7) (mul_nonneg (by positivity) (step_28 j)))

-- `sum of p` is an invariant of the loop `local steps` above

-- `sum of y` is an invariant of the loop `local steps` above

-- `q after k` is an invariant of the loop `local steps` above

-- `sum of q^2` is an invariant of the loop `local steps` above

-- `q near c` is an invariant of the loop `local steps` above

-- `R after k` is an invariant of the loop `local steps` above

/-- `p after k, k = K`, rule: instance of step_34 -/
theorem step_41
    {L Y g k more p rho : ℝ}
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_p : 0 ≤ p)
    (sign_rho : 0 ≤ rho)
    (step_34 : 0 ≤ (L * Y + k * (L * rho + g) - p : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (L * Y - p + (more + 1) * (L * rho + g) : ℝ) := by
  have same : (L * Y - p + (more + 1) * (L * rho + g) : ℝ) = (L * Y + k * (L * rho + g) - p : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_34

/-- `sum of p, k = K`, rule: instance of step_35 -/
theorem step_42
    {L SP Y g k more rho : ℝ}
    (sign_L : 0 < L)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_rho : 0 ≤ rho)
    (step_35 : 0 ≤ (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (L * Y * more - SP + more * (more + 1) * (L * rho + g) / 2 : ℝ) := by
  have same : (L * Y * more - SP + more * (more + 1) * (L * rho + g) / 2 : ℝ) = (L * Y * (k - 1) - SP + k * (k - 1) * (L * rho + g) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_35

/-- `sum of y, k = K`, rule: instance of step_36 -/
theorem step_43
    {C SP Y gamma k more mu t : ℝ}
    (sign_C : 0 ≤ C)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_gamma : 0 < gamma)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (step_36 : 0 ≤ (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) := by
  have same : (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) = (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_36

/-- `q after k, k = K`, rule: instance of step_37 -/
theorem step_44
    {k more q sigma_l : ℝ}
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_37 : 0 ≤ (k * sigma_l ^ 2 - q ^ 2 : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (-q ^ 2 + sigma_l ^ 2 * (more + 1) : ℝ) := by
  have same : (-q ^ 2 + sigma_l ^ 2 * (more + 1) : ℝ) = (k * sigma_l ^ 2 - q ^ 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_37

/-- `sum of q^2, k = K`, rule: instance of step_38 -/
theorem step_45
    {SQ k more sigma_l : ℝ}
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_38 : 0 ≤ (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (-SQ + more * sigma_l ^ 2 * (more + 1) / 2 : ℝ) := by
  have same : (-SQ + more * sigma_l ^ 2 * (more + 1) / 2 : ℝ) = (-SQ + k * sigma_l ^ 2 * (k - 1) / 2 : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_38

/-- `q near c, k = K`, rule: instance of step_39 -/
theorem step_46
    {C SQ c k more : ℝ}
    (sign_C : 0 ≤ C)
    (sign_SQ : 0 ≤ SQ)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (step_39 : 0 ≤ ((-2) * C * c + SQ + c ^ 2 * k : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ ((-2) * C * c + SQ + c ^ 2 * (more + 1) : ℝ) := by
  have same : ((-2) * C * c + SQ + c ^ 2 * (more + 1) : ℝ) = ((-2) * C * c + SQ + c ^ 2 * k : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_39

/-- `R after k, k = K`, rule: instance of step_40 -/
theorem step_47
    {L Y k more rho v : ℝ}
    (sign_L : 0 < L)
    (sign_Y : 0 ≤ Y)
    (sign_k : 0 ≤ k)
    (sign_more : 0 ≤ more)
    (sign_rho : 0 ≤ rho)
    (sign_v : 0 ≤ v)
    (step_40 : 0 ≤ (L * Y + L * k * rho - v : ℝ))
    (at_k : k = (more + 1 : ℝ)) :
    0 ≤ (L * Y + L * rho * (more + 1) - v : ℝ) := by
  have same : (L * Y + L * rho * (more + 1) - v : ℝ) = (L * Y + L * k * rho - v : ℝ) := by
    rw [at_k]
    field_simp
    ring
  rw [same]
  exact step_40

/-- `norm size_r`, rule: norm -/
theorem step_48
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
theorem step_49
    {L P Y more : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_more : 0 ≤ more)
    (named : P = (L * Y / (more + 1) : ℝ)) :
    ((-L) * Y / (more + 1) + P : ℝ) = 0 := by
  rw [named]
  ring

/-- `tau is the mean of q`, rule: definition -/
theorem step_50
    {C L gamma more mu t tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_L : 0 < L)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (named : tau = (2 * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) : ℝ)) :
    ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) + tau : ℝ) = 0 := by
  rw [named]
  ring

/-- `r is a mean`, rule: hypothesis; r = R_K/K, one vector under two names -/
def step_51 (more size_r v : ℝ) : Prop :=
    (size_r - v / (more + 1) : ℝ) = 0

/-- `z is a mean`, rule: hypothesis; z = Q_K/K, one vector, two names -/
def step_52 (dot_z_z more q : ℝ) : Prop :=
    (dot_z_z - q ^ 2 / (more + 1) ^ 2 : ℝ) = 0

/-- `X`, rule: hypothesis; X names (K - 1) L eta -/
def step_53 : Prop :=
    (0 : ℝ) = 0

/-- `size of r`, rule: combination of step_47, step_49, step_51 -/
theorem step_54
    {L P Y more rho size_r v : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_Y : 0 ≤ Y)
    (sign_more : 0 ≤ more)
    (sign_rho : 0 ≤ rho)
    (sign_size_r : 0 ≤ size_r)
    (sign_v : 0 ≤ v)
    (step_47 : 0 ≤ (L * Y + L * rho * (more + 1) - v : ℝ))
    (step_49 : ((-L) * Y / (more + 1) + P : ℝ) = 0)
    (step_51 : (size_r - v / (more + 1) : ℝ) = 0) :
    0 ≤ (L * rho + P - size_r : ℝ) := by
  have same : (L * rho + P - size_r : ℝ) = (1 / (more + 1)) * (L * Y + L * rho * (more + 1) - v : ℝ) + (1) * ((-L) * Y / (more + 1) + P : ℝ) + (-1) * (size_r - v / (more + 1) : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_47) (le_of_eq (by rw [step_49]; ring))) (le_of_eq (by rw [step_51]; ring)))

/-- `drift`, rule: combination of step_42, step_43, step_49, step_50, step_53 -/
theorem step_55
    {C L P SP Y g gamma more mu rho t tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_SP : 0 ≤ SP)
    (sign_Y : 0 ≤ Y)
    (sign_g : 0 ≤ g)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (step_42 : 0 ≤ (L * Y * more - SP + more * (more + 1) * (L * rho + g) / 2 : ℝ))
    (step_43 : 0 ≤ (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ))
    (step_49 : ((-L) * Y / (more + 1) + P : ℝ) = 0)
    (step_50 : ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) + tau : ℝ) = 0)
    (step_53 : (0 : ℝ) = 0) :
    0 ≤ (L * more * (L * rho + g) / (mu * (more + 1) * (gamma + t + 2)) - P * ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1) + tau : ℝ) := by
  have same : (L * more * (L * rho + g) / (mu * (more + 1) * (gamma + t + 2)) - P * ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1) + tau : ℝ) = (L / (more + 1)) * (-Y + 2 * (C + SP) / (mu * (more + 1) * (gamma + t + 2)) : ℝ) + (2 * L / (mu * (more + 1) ^ 2 * (gamma + t + 2))) * (L * Y * more - SP + more * (more + 1) * (L * rho + g) / 2 : ℝ) + (1) * ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) + tau : ℝ) + (2 * L * more / (mu * (more + 1) * (gamma + t + 2)) - 1) * ((-L) * Y / (more + 1) + P : ℝ) + (L * Y / (more + 1) + L * rho / 2 + g / 2) * (0 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_43) (mul_nonneg (by positivity) step_42)) (le_of_eq (by rw [step_50]; ring))) (le_of_eq (by rw [step_49]; ring))) (le_of_eq (by rw [step_53]; ring)))

/-- `size of z`, rule: combination of step_44, step_52 -/
theorem step_56
    {dot_z_z more q sigma_l : ℝ}
    (sign_more : 0 ≤ more)
    (sign_q : 0 ≤ q)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_44 : 0 ≤ (-q ^ 2 + sigma_l ^ 2 * (more + 1) : ℝ))
    (step_52 : (dot_z_z - q ^ 2 / (more + 1) ^ 2 : ℝ) = 0) :
    0 ≤ (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ) := by
  have same : (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ) = (((more + 1) ^ 2)⁻¹) * (-q ^ 2 + sigma_l ^ 2 * (more + 1) : ℝ) + (-1) * (dot_z_z - q ^ 2 / (more + 1) ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_44) (le_of_eq (by rw [step_52]; ring)))

/-- `Cauchy`, rule: instance of step_46 -/
theorem step_57
    {C SQ c more : ℝ}
    (sign_C : 0 ≤ C)
    (sign_SQ : 0 ≤ SQ)
    (sign_more : 0 ≤ more)
    (step_46 : 0 ≤ ((-2) * C * c + SQ + c ^ 2 * (more + 1) : ℝ))
    (at_c : c = (C / (more + 1) : ℝ)) :
    0 ≤ ((-C ^ 2) / (more + 1) + SQ : ℝ) := by
  have same : ((-C ^ 2) / (more + 1) + SQ : ℝ) = ((-2) * C * c + SQ + c ^ 2 * (more + 1) : ℝ) := by
    rw [at_c]
    field_simp
    ring
  rw [same]
  exact step_46

/-- `square of tau`, rule: combination of step_50, step_57 -/
theorem step_58
    {C L SQ gamma more mu t tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (step_50 : ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) + tau : ℝ) = 0)
    (step_57 : 0 ≤ ((-C ^ 2) / (more + 1) + SQ : ℝ)) :
    0 ≤ (4 * C ^ 2 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 4 * (gamma + t + 2) ^ 2) + 4 * L ^ 2 * ((-C ^ 2) / (more + 1) + SQ) / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) := by
  have same : (4 * C ^ 2 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 4 * (gamma + t + 2) ^ 2) + 4 * L ^ 2 * ((-C ^ 2) / (more + 1) + SQ) / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) = (4 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2)) * ((-C ^ 2) / (more + 1) + SQ : ℝ) + ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) - tau) * ((-2) * C * L / (mu * (more + 1) ^ 2 * (gamma + t + 2)) + tau : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_57) (le_of_eq (by rw [step_50]; ring)))

/-- `tau`, rule: combination of step_45, step_53, step_58 -/
theorem step_59
    {C L SQ gamma more mu sigma_l t tau : ℝ}
    (sign_C : 0 ≤ C)
    (sign_L : 0 < L)
    (sign_SQ : 0 ≤ SQ)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (step_45 : 0 ≤ (-SQ + more * sigma_l ^ 2 * (more + 1) / 2 : ℝ))
    (step_53 : (0 : ℝ) = 0)
    (step_58 : 0 ≤ (4 * C ^ 2 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 4 * (gamma + t + 2) ^ 2) + 4 * L ^ 2 * ((-C ^ 2) / (more + 1) + SQ) / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ)) :
    0 ≤ (2 * L ^ 2 * more * sigma_l ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) := by
  have same : (2 * L ^ 2 * more * sigma_l ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) = (1) * (4 * C ^ 2 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 4 * (gamma + t + 2) ^ 2) + 4 * L ^ 2 * ((-C ^ 2) / (more + 1) + SQ) / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) + (4 * L ^ 2 / (mu ^ 2 * (more + 1) ^ 3 * (gamma + t + 2) ^ 2)) * (-SQ + more * sigma_l ^ 2 * (more + 1) / 2 : ℝ) + (L * sigma_l ^ 2 / (mu * (more + 1) * (gamma + t + 2))) * (0 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_58) (mul_nonneg (by positivity) step_45)) (le_of_eq (by rw [step_53]; ring)))

/-- `heterogeneity`, rule: hypothesis; mean |grad F_i - grad F|^2 <= sigma_g^2 -/
def step_60 (dot_b_b sigma_g : ℝ) : Prop :=
    0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ)

/-- `b has mean zero`, rule: mean over clients -/
def step_61 (dot_G_b : ℝ) : Prop :=
    (dot_G_b : ℝ) = 0

/-- `bound on P`, rule: combination of step_55, step_6 -/
theorem step_62
    {L P g gamma more mu rho t tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_g : 0 ≤ g)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (step_6 : 0 ≤ ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1 / 10 : ℝ))
    (step_55 : 0 ≤ (L * more * (L * rho + g) / (mu * (more + 1) * (gamma + t + 2)) - P * ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1) + tau : ℝ)) :
    0 ≤ (10 * L * more * (L * rho + g) / (9 * mu * (more + 1) * (gamma + t + 2)) - P + 10 * tau / 9 : ℝ) := by
  have same : (10 * L * more * (L * rho + g) / (9 * mu * (more + 1) * (gamma + t + 2)) - P + 10 * tau / 9 : ℝ) = (10 / 9) * (L * more * (L * rho + g) / (mu * (more + 1) * (gamma + t + 2)) - P * ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1) + tau : ℝ) + (10 * P / 9) * ((-2) * L * more / (mu * (more + 1) * (gamma + t + 2)) + 1 / 10 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_55) (mul_nonneg (by positivity) step_6))

/-- `g against L rho`, rule: scalar square -/
theorem step_63
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
theorem step_64
    {L g gamma more mu rho t tau : ℝ}
    (sign_L : 0 < L)
    (sign_g : 0 ≤ g)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau) :
    0 ≤ ((L * more * (L * rho + g) / (2 * mu * (more + 1) * (gamma + t + 2)) - tau) ^ 2 : ℝ) := by
  have same : ((L * more * (L * rho + g) / (2 * mu * (more + 1) * (gamma + t + 2)) - tau) ^ 2 : ℝ) = (L * more * (L * rho + g) / (2 * mu * (more + 1) * (gamma + t + 2)) - tau : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `P^2`, rule: combination of step_12, step_59, step_60, step_61, step_62, step_63, step_64 -/
theorem step_65
    {L P dot_G_G dot_G_b dot_b_b g gamma more mu rho sigma_g sigma_l t tau : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_g : 0 ≤ g)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (sign_tau : 0 ≤ tau)
    (step_12 : (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 : ℝ) = 0)
    (step_59 : 0 ≤ (2 * L ^ 2 * more * sigma_l ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ))
    (step_60 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_61 : (dot_G_b : ℝ) = 0)
    (step_62 : 0 ≤ (10 * L * more * (L * rho + g) / (9 * mu * (more + 1) * (gamma + t + 2)) - P + 10 * tau / 9 : ℝ))
    (step_63 : 0 ≤ (((-L) * rho + g) ^ 2 : ℝ))
    (step_64 : 0 ≤ ((L * more * (L * rho + g) / (2 * mu * (more + 1) * (gamma + t + 2)) - tau) ^ 2 : ℝ)) :
    0 ≤ (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - P ^ 2 : ℝ) := by
  have same : (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - P ^ 2 : ℝ) = (10 * L * more * (L * rho + g) / (9 * mu * (more + 1) * (gamma + t + 2)) + P + 10 * tau / 9) * (10 * L * more * (L * rho + g) / (9 * mu * (more + 1) * (gamma + t + 2)) - P + 10 * tau / 9 : ℝ) + (50 * L ^ 2 * more ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2)) * (((-L) * rho + g) ^ 2 : ℝ) + (100 * L ^ 2 * more ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2)) * (-dot_b_b + sigma_g ^ 2 : ℝ) + ((-100) * L ^ 2 * more ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2)) * (-dot_G_G - 2 * dot_G_b - dot_b_b + g ^ 2 : ℝ) + ((-200) * L ^ 2 * more ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2)) * (dot_G_b : ℝ) + (200 / 81) * ((L * more * (L * rho + g) / (2 * mu * (more + 1) * (gamma + t + 2)) - tau) ^ 2 : ℝ) + (100 / 27) * (2 * L ^ 2 * more * sigma_l ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - tau ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_62) (mul_nonneg (by positivity) step_63)) (mul_nonneg (by positivity) step_60)) (le_of_eq (by rw [step_12]; ring))) (le_of_eq (by rw [step_61]; ring))) (mul_nonneg (by positivity) step_64)) (mul_nonneg (by positivity) step_59))

/-- `Young in r`, rule: scalar square -/
theorem step_66
    {L P rho : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_rho : 0 ≤ rho) :
    0 ≤ (((-L) * rho / 2 + P) ^ 2 : ℝ) := by
  have same : (((-L) * rho / 2 + P) ^ 2 : ℝ) = ((-L) * rho / 2 + P : ℝ) ^ 2 := by
    field_simp
    ring
  rw [same]
  exact sq_nonneg _

/-- `|r|^2`, rule: combination of step_48, step_54, step_65, step_66 -/
theorem step_67
    {L P dot_G_G dot_r_r gamma more mu rho sigma_g sigma_l size_r t : ℝ}
    (sign_L : 0 < L)
    (sign_P : 0 ≤ P)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_size_r : 0 ≤ size_r)
    (sign_t : 0 ≤ t)
    (step_48 : (-dot_r_r + size_r ^ 2 : ℝ) = 0)
    (step_54 : 0 ≤ (L * rho + P - size_r : ℝ))
    (step_65 : 0 ≤ (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - P ^ 2 : ℝ))
    (step_66 : 0 ≤ (((-L) * rho / 2 + P) ^ 2 : ℝ)) :
    0 ≤ (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ) := by
  have same : (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ) = (L * rho + P + size_r) * (L * rho + P - size_r : ℝ) + (1) * (-dot_r_r + size_r ^ 2 : ℝ) + (2) * (((-L) * rho / 2 + P) ^ 2 : ℝ) + (3) * (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (27 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) - P ^ 2 : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_54) (le_of_eq (by rw [step_48]; ring))) (mul_nonneg (by positivity) step_66)) (mul_nonneg (by positivity) step_65))

/-- `m is the mean of r`, rule: mean over clients -/
def step_68 (dot_m_m dot_m_r : ℝ) : Prop :=
    (-dot_m_m + dot_m_r : ℝ) = 0

/-- `Jensen`, rule: square -/
theorem step_69
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m r : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, r⟫_ℝ) + (⟪r, r⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • r + (-1 : ℝ) • m, (1 : ℝ) • r + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m r]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|m|^2`, rule: combination of step_68, step_69 -/
theorem step_70
    {dot_m_m dot_m_r dot_r_r : ℝ}
    (step_68 : (-dot_m_m + dot_m_r : ℝ) = 0)
    (step_69 : 0 ≤ (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ)) :
    0 ≤ (-dot_m_m + dot_r_r : ℝ) := by
  have same : (-dot_m_m + dot_r_r : ℝ) = (1) * (dot_m_m - 2 * dot_m_r + dot_r_r : ℝ) + (2) * (-dot_m_m + dot_m_r : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_69) (le_of_eq (by rw [step_68]; ring)))

/-- `clients are independent`, rule: independence -/
def step_71 (N dot_n_n dot_z_z : ℝ) : Prop :=
    0 ≤ (-dot_n_n + dot_z_z / N : ℝ)

/-- `|n|^2`, rule: combination of step_56, step_71 -/
theorem step_72
    {N dot_n_n dot_z_z more sigma_l : ℝ}
    (sign_N : 0 < N)
    (sign_more : 0 ≤ more)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_56 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ))
    (step_71 : 0 ≤ (-dot_n_n + dot_z_z / N : ℝ)) :
    0 ≤ (-dot_n_n + sigma_l ^ 2 / (N * (more + 1)) : ℝ) := by
  have same : (-dot_n_n + sigma_l ^ 2 / (N * (more + 1)) : ℝ) = (1 / N) * (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ) + (1) * (-dot_n_n + dot_z_z / N : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_56) (mul_nonneg (by positivity) step_71))

/-- `G against u`, rule: mean over clients -/
def step_73 (dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z : ℝ) : Prop :=
    (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0

/-- `z is unbiased`, rule: unbiased -/
def step_74 (dot_b_z : ℝ) : Prop :=
    (dot_b_z : ℝ) = 0

/-- `mean of u against G`, rule: square -/
theorem step_75
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) + 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (1 : ℝ) • n, (1 : ℝ) • m + (1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `Young between clients`, rule: square -/
theorem step_76
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {b r z : E} :
    0 ≤ ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) := by
  have same : ((⟪b, b⟫_ℝ) - 2 * (⟪b, r⟫_ℝ) + 2 * (⟪b, z⟫_ℝ) + (⟪r, r⟫_ℝ) - 2 * (⟪r, z⟫_ℝ) + (⟪z, z⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r, (1 : ℝ) • b + (1 : ℝ) • z + (-1 : ℝ) • r⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm b r, real_inner_comm b z, real_inner_comm r z]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `spread of the clients`, rule: combination of step_56, step_60, step_67, step_73, step_74, step_75, step_76 -/
theorem step_77
    {L dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z gamma more mu rho sigma_g sigma_l t : ℝ}
    (sign_L : 0 < L)
    (sign_gamma : 0 < gamma)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_56 : 0 ≤ (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ))
    (step_60 : 0 ≤ (-dot_b_b + sigma_g ^ 2 : ℝ))
    (step_67 : 0 ≤ (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ))
    (step_73 : (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) = 0)
    (step_74 : (dot_b_z : ℝ) = 0)
    (step_75 : 0 ≤ (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ))
    (step_76 : 0 ≤ (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ)) :
    0 ≤ (200 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 400 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / (more + 1) : ℝ) := by
  have same : (200 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 400 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / (more + 1) : ℝ) = (1) * (dot_m_m + 2 * dot_m_n + dot_n_n : ℝ) + (1) * (dot_b_b - 2 * dot_b_r + 2 * dot_b_z + dot_r_r - 2 * dot_r_z + dot_z_z : ℝ) + (2) * (-dot_b_b + sigma_g ^ 2 : ℝ) + (2) * (-dot_z_z + sigma_l ^ 2 / (more + 1) : ℝ) + (-4) * (dot_b_z : ℝ) + (2) * (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ) + (-2) * (dot_G_b - dot_G_m - dot_G_n + dot_G_r + dot_G_z : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_75) (mul_nonneg (by positivity) step_76)) (mul_nonneg (by positivity) step_60)) (mul_nonneg (by positivity) step_56)) (le_of_eq (by rw [step_74]; ring))) (mul_nonneg (by positivity) step_67)) (le_of_eq (by rw [step_73]; ring)))

/-- `strongly convex`, rule: hypothesis; at w^t, towards w^* -/
def step_78 (F F_star dot_G_o dot_o_o mu : ℝ) : Prop :=
    0 ≤ (-F + F_star + dot_G_o - dot_o_o * mu / 2 : ℝ)

/-- `growth`, rule: hypothesis; strong convexity at w^*, where grad F = 0 -/
def step_79 (F F_star dot_o_o mu : ℝ) : Prop :=
    0 ≤ (F - F_star - dot_o_o * mu / 2 : ℝ)

/-- `least value`, rule: hypothesis; F >= F^* -/
def step_80 (F_low F_star : ℝ) : Prop :=
    0 ≤ (F_low - F_star : ℝ)

/-- `smoothness of F`, rule: smooth value -/
def step_81 (F F_low L dot_G_G : ℝ) : Prop :=
    0 ≤ (F - F_low - dot_G_G / (2 * L) : ℝ)

/-- `slope against value`, rule: combination of step_80, step_81 -/
theorem step_82
    {F F_low F_star L dot_G_G : ℝ}
    (sign_L : 0 < L)
    (step_80 : 0 ≤ (F_low - F_star : ℝ))
    (step_81 : 0 ≤ (F - F_low - dot_G_G / (2 * L) : ℝ)) :
    0 ≤ (F - F_star - dot_G_G / (2 * L) : ℝ) := by
  have same : (F - F_star - dot_G_G / (2 * L) : ℝ) = (1) * (F - F_low - dot_G_G / (2 * L) : ℝ) + (1) * (F_low - F_star : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (mul_nonneg (by positivity) step_81) (mul_nonneg (by positivity) step_80))

/-- `slope along the distance`, rule: combination of step_78, step_79, step_82 -/
theorem step_83
    {F F_star L dot_G_G dot_G_o dot_o_o mu : ℝ}
    (sign_L : 0 < L)
    (sign_mu : 0 < mu)
    (step_78 : 0 ≤ (-F + F_star + dot_G_o - dot_o_o * mu / 2 : ℝ))
    (step_79 : 0 ≤ (F - F_star - dot_o_o * mu / 2 : ℝ))
    (step_82 : 0 ≤ (F - F_star - dot_G_G / (2 * L) : ℝ)) :
    0 ≤ (2 * dot_G_o - 3 * dot_o_o * mu / 2 - dot_G_G / (2 * L) : ℝ) := by
  have same : (2 * dot_G_o - 3 * dot_o_o * mu / 2 - dot_G_G / (2 * L) : ℝ) = (2) * (-F + F_star + dot_G_o - dot_o_o * mu / 2 : ℝ) + (1) * (F - F_star - dot_o_o * mu / 2 : ℝ) + (1) * (F - F_star - dot_G_G / (2 * L) : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_78) (mul_nonneg (by positivity) step_79)) (mul_nonneg (by positivity) step_82))

/-- `cohort along o`, rule: sampled mean -/
def step_84 (dot_G_o dot_d_o dot_m_o dot_n_o : ℝ) : Prop :=
    (-dot_G_o + dot_d_o - dot_m_o - dot_n_o : ℝ) = 0

/-- `cohort`, rule: sampling without replacement -/
def step_85 (dot_G_G dot_G_b dot_G_m dot_G_n dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_m_m dot_m_n dot_n_n dot_r_r dot_r_z dot_z_z kappa : ℝ) : Prop :=
    (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0

/-- `n against o`, rule: unbiased -/
def step_86 (dot_n_o : ℝ) : Prop :=
    (dot_n_o : ℝ) = 0

/-- `n against G`, rule: unbiased -/
def step_87 (dot_G_n : ℝ) : Prop :=
    (dot_G_n : ℝ) = 0

/-- `Young against the distance`, rule: square -/
theorem step_88
    {mu : ℝ}
    (sign_mu : 0 < mu)
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m o : E} :
    0 ≤ (4 * (⟪m, m⟫_ℝ) / mu ^ 2 + 4 * (⟪m, o⟫_ℝ) / mu + (⟪o, o⟫_ℝ) : ℝ) := by
  have same : (4 * (⟪m, m⟫_ℝ) / mu ^ 2 + 4 * (⟪m, o⟫_ℝ) / mu + (⟪o, o⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • o + (2 / mu : ℝ) • m, (1 : ℝ) • o + (2 / mu : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m o]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `slope against error`, rule: square -/
theorem step_89
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G m : E} :
    0 ≤ ((⟪G, G⟫_ℝ) - 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) - 2 * (⟪G, m⟫_ℝ) + (⟪m, m⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G + (-1 : ℝ) • m, (1 : ℝ) • G + (-1 : ℝ) • m⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm G m]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `error against noise`, rule: square -/
theorem step_90
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {m n : E} :
    0 ≤ ((⟪m, m⟫_ℝ) - 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) := by
  have same : ((⟪m, m⟫_ℝ) - 2 * (⟪m, n⟫_ℝ) + (⟪n, n⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • m + (-1 : ℝ) • n, (1 : ℝ) • m + (-1 : ℝ) • n⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right, real_inner_comm m n]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `|G|^2`, rule: square -/
theorem step_91
    {E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]
    {G : E} :
    0 ≤ ((⟪G, G⟫_ℝ) : ℝ) := by
  have same : ((⟪G, G⟫_ℝ) : ℝ) = ⟪(1 : ℝ) • G, (1 : ℝ) • G⟫_ℝ := by
    simp only [inner_add_left, inner_add_right, real_inner_smul_left, real_inner_smul_right]
    ring
  rw [same]
  exact real_inner_self_nonneg

/-- `one round`, rule: combination of step_3, step_4, step_5, step_67, step_7, step_70, step_72, step_77, step_83, step_84, step_85, step_86, step_87, step_88, step_89, step_90, step_91 -/
theorem step_92
    {L N dot_G_G dot_G_b dot_G_m dot_G_n dot_G_o dot_G_r dot_G_z dot_b_b dot_b_r dot_b_z dot_d_d dot_d_o dot_m_m dot_m_n dot_m_o dot_n_n dot_n_o dot_o_o dot_r_r dot_r_z dot_z_z gamma kappa more mu rho sigma_g sigma_l t : ℝ}
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_gamma : 0 < gamma)
    (sign_kappa : 0 ≤ kappa)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_3 : 0 ≤ (L - mu : ℝ))
    (step_4 : 0 ≤ (1 - kappa : ℝ))
    (step_5 : 0 ≤ ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ))
    (step_7 : 0 ≤ ((-96) * L ^ 3 * more ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + mu : ℝ))
    (step_67 : 0 ≤ (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ))
    (step_70 : 0 ≤ (-dot_m_m + dot_r_r : ℝ))
    (step_72 : 0 ≤ (-dot_n_n + sigma_l ^ 2 / (N * (more + 1)) : ℝ))
    (step_77 : 0 ≤ (200 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 400 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / (more + 1) : ℝ))
    (step_83 : 0 ≤ (2 * dot_G_o - 3 * dot_o_o * mu / 2 - dot_G_G / (2 * L) : ℝ))
    (step_84 : (-dot_G_o + dot_d_o - dot_m_o - dot_n_o : ℝ) = 0)
    (step_85 : (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) = 0)
    (step_86 : (dot_n_o : ℝ) = 0)
    (step_87 : (dot_G_n : ℝ) = 0)
    (step_88 : 0 ≤ (4 * dot_m_m / mu ^ 2 + 4 * dot_m_o / mu + dot_o_o : ℝ))
    (step_89 : 0 ≤ (dot_G_G - 2 * dot_G_m + dot_m_m : ℝ))
    (step_90 : 0 ≤ (dot_m_m - 2 * dot_m_n + dot_n_n : ℝ))
    (step_91 : 0 ≤ (dot_G_G : ℝ)) :
    0 ≤ ((-4) * dot_d_d / (mu ^ 2 * (gamma + t + 2) ^ 2) + 4 * dot_d_o / (mu * (gamma + t + 2)) + dot_o_o * (1 - 2 / (gamma + t + 2)) - dot_o_o + 4 * (2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 2 * sigma_l ^ 2 / (N * (more + 1))) / (mu ^ 2 * (gamma + t + 2) ^ 2) + 5 * (100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + rho ^ 2 * (100 * L ^ 4 * more ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 3 * L ^ 2 / 2)) / (mu ^ 2 * (gamma + t + 2)) : ℝ) := by
  have same : ((-4) * dot_d_d / (mu ^ 2 * (gamma + t + 2) ^ 2) + 4 * dot_d_o / (mu * (gamma + t + 2)) + dot_o_o * (1 - 2 / (gamma + t + 2)) - dot_o_o + 4 * (2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 2 * sigma_l ^ 2 / (N * (more + 1))) / (mu ^ 2 * (gamma + t + 2) ^ 2) + 5 * (100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + rho ^ 2 * (100 * L ^ 4 * more ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 3 * L ^ 2 / 2)) / (mu ^ 2 * (gamma + t + 2)) : ℝ) = (2 / (mu * (gamma + t + 2))) * (2 * dot_G_o - 3 * dot_o_o * mu / 2 - dot_G_G / (2 * L) : ℝ) + (4 / (mu * (gamma + t + 2))) * (-dot_G_o + dot_d_o - dot_m_o - dot_n_o : ℝ) + (4 / (mu * (gamma + t + 2))) * (dot_n_o : ℝ) + (1 / (gamma + t + 2)) * (4 * dot_m_m / mu ^ 2 + 4 * dot_m_o / mu + dot_o_o : ℝ) + (4 / (mu ^ 2 * (gamma + t + 2))) * (-dot_m_m + dot_r_r : ℝ) + (4 / (mu ^ 2 * (gamma + t + 2))) * (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ) + ((-4) / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (-dot_G_G - 2 * dot_G_m - 2 * dot_G_n + dot_d_d - dot_m_m - 2 * dot_m_n - dot_n_n - kappa * (2 * dot_G_b - 2 * dot_G_m - 2 * dot_G_n + 2 * dot_G_r + 2 * dot_G_z + dot_b_b + 2 * dot_b_r + 2 * dot_b_z - dot_m_m - 2 * dot_m_n - dot_n_n + dot_r_r + 2 * dot_r_z + dot_z_z) : ℝ) + ((-8) / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (dot_G_n : ℝ) + (4 / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (dot_G_G - 2 * dot_G_m + dot_m_m : ℝ) + (4 / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (dot_m_m - 2 * dot_m_n + dot_n_n : ℝ) + (12 / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (-dot_m_m + dot_r_r : ℝ) + (12 / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (100 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2 - dot_r_r : ℝ) + (8 / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (-dot_n_n + sigma_l ^ 2 / (N * (more + 1)) : ℝ) + (4 * kappa / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (200 * L ^ 2 * more ^ 2 * (L ^ 2 * rho ^ 2 + dot_G_G + sigma_g ^ 2) / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 400 * L ^ 2 * more * sigma_l ^ 2 / (9 * mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + 3 * L ^ 2 * rho ^ 2 - 2 * dot_G_b + 2 * dot_G_m + 2 * dot_G_n - 2 * dot_G_r - 2 * dot_G_z - dot_b_b - 2 * dot_b_r - 2 * dot_b_z + dot_m_m + 2 * dot_m_n + dot_n_n - dot_r_r - 2 * dot_r_z - dot_z_z + 2 * sigma_g ^ 2 + 2 * sigma_l ^ 2 / (more + 1) : ℝ) + (10 * (100 * L ^ 4 * more ^ 2 * rho ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2) / (mu ^ 2 * (gamma + t + 2))) * ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) + (20 * (100 * L ^ 4 * more ^ 2 * rho ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2) / (mu ^ 3 * (gamma + t + 2) ^ 2)) * (L - mu : ℝ) + (8 * (100 * L ^ 4 * more ^ 2 * rho ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * t + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * t + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * t + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * t ^ 2 + 36 * more ^ 2 * mu ^ 2 * t + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * t ^ 2 + 72 * more * mu ^ 2 * t + 72 * more * mu ^ 2 + 9 * mu ^ 2 * t ^ 2 + 36 * mu ^ 2 * t + 36 * mu ^ 2) + 3 * L ^ 2 * rho ^ 2 / 2) / (mu ^ 2 * (gamma + t + 2) ^ 2)) * (1 - kappa : ℝ) + (1000 * L ^ 2 * more ^ 2 / (9 * mu ^ 4 * (more + 1) ^ 2 * (gamma + t + 2) ^ 3)) * (dot_G_G : ℝ) * ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) + (2000 * L ^ 2 * more ^ 2 / (9 * mu ^ 5 * (more + 1) ^ 2 * (gamma + t + 2) ^ 4)) * (dot_G_G : ℝ) * (L - mu : ℝ) + (800 * L ^ 2 * more ^ 2 / (9 * mu ^ 4 * (more + 1) ^ 2 * (gamma + t + 2) ^ 4)) * (dot_G_G : ℝ) * (1 - kappa : ℝ) + (4 / (L * mu * (gamma + t + 2))) * (dot_G_G : ℝ) * ((-2) * L / (mu * (gamma + t + 2)) + 1 / 10 : ℝ) + (3 / (5 * L * mu ^ 2 * (gamma + t + 2))) * (dot_G_G : ℝ) * ((-96) * L ^ 3 * more ^ 2 / (mu ^ 2 * (more + 1) ^ 2 * (gamma + t + 2) ^ 2) + mu : ℝ) + (92 * L ^ 2 * more ^ 2 / (45 * mu ^ 4 * (more + 1) ^ 2 * (gamma + t + 2) ^ 3)) * (dot_G_G : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_83) (le_of_eq (by rw [step_84]; ring))) (le_of_eq (by rw [step_86]; ring))) (mul_nonneg (by positivity) step_88)) (mul_nonneg (by positivity) step_70)) (mul_nonneg (by positivity) step_67)) (le_of_eq (by rw [step_85]; ring))) (le_of_eq (by rw [step_87]; ring))) (mul_nonneg (by positivity) step_89)) (mul_nonneg (by positivity) step_90)) (mul_nonneg (by positivity) step_70)) (mul_nonneg (by positivity) step_67)) (mul_nonneg (by positivity) step_72)) (mul_nonneg (by positivity) step_77)) (mul_nonneg (by positivity) step_5)) (mul_nonneg (by positivity) step_3)) (mul_nonneg (by positivity) step_4)) (mul_nonneg (mul_nonneg (by positivity) step_91) step_5)) (mul_nonneg (mul_nonneg (by positivity) step_91) step_3)) (mul_nonneg (mul_nonneg (by positivity) step_91) step_4)) (mul_nonneg (mul_nonneg (by positivity) step_91) step_5)) (mul_nonneg (mul_nonneg (by positivity) step_91) step_7)) (mul_nonneg (by positivity) step_91))

/-- `after t rounds`, rule: loop of step_6, step_8, step_9, step_92 -/
theorem step_93
    {L N d_0 gamma kappa more mu rho sigma_g sigma_l : ℝ}
    {dist dist_next dot_d_d dot_d_o dot_o_o t : ℕ → ℝ}
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_d_0 : 0 ≤ d_0)
    (sign_dist : ∀ j, 0 ≤ dist j)
    (sign_dist_next : ∀ j, 0 ≤ dist_next j)
    (sign_gamma : 0 < gamma)
    (sign_kappa : 0 ≤ kappa)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : ∀ j, 0 ≤ t j)
    (start_t : t 0 = (0 : ℝ))
    (turn_t : ∀ j, t (j + 1) = ((t j) + 1 : ℝ))
    (start_dist : dist 0 = (d_0 : ℝ))
    (turn_dist : ∀ j, dist (j + 1) = ((dist_next j) : ℝ))
    (step_6 : ∀ j, 0 ≤ ((-2) * L * more / (mu * (more + 1) * (gamma + (t j) + 2)) + 1 / 10 : ℝ))
    (step_8 : ∀ j, ((dist j) ^ 2 - (dot_o_o j) : ℝ) = 0)
    (step_9 : ∀ j, ((dist_next j) ^ 2 - 4 * (dot_d_d j) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 4 * (dot_d_o j) / (mu * (gamma + (t j) + 2)) - (dot_o_o j) : ℝ) = 0)
    (step_92 : ∀ j, 0 ≤ ((-4) * (dot_d_d j) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 4 * (dot_d_o j) / (mu * (gamma + (t j) + 2)) + (dot_o_o j) * (1 - 2 / (gamma + (t j) + 2)) - (dot_o_o j) + 4 * (2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 2 * sigma_l ^ 2 / (N * (more + 1))) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 5 * (100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + rho ^ 2 * (100 * L ^ 4 * more ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + 3 * L ^ 2 / 2)) / (mu ^ 2 * (gamma + (t j) + 2)) : ℝ)) :
    ∀ j, 0 ≤ (275 * L ^ 2 * rho ^ 2 * (t j) * (2 * gamma + (t j) + 1) / (72 * mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - (dist j) ^ 2 * (gamma + (t j)) * (gamma + (t j) + 1) + (t j) * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_t, start_dist]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : (275 * L ^ 2 * rho ^ 2 * (t (j + 1)) * (2 * gamma + (t (j + 1)) + 1) / (72 * mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - (dist (j + 1)) ^ 2 * (gamma + (t (j + 1))) * (gamma + (t (j + 1)) + 1) + (t (j + 1)) * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) : ℝ) = (1) * (275 * L ^ 2 * rho ^ 2 * (t j) * (2 * gamma + (t j) + 1) / (72 * mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - (dist j) ^ 2 * (gamma + (t j)) * (gamma + (t j) + 1) + (t j) * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) : ℝ) + ((gamma + (t j) + 1) * (gamma + (t j) + 2)) * ((-4) * (dot_d_d j) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 4 * (dot_d_o j) / (mu * (gamma + (t j) + 2)) + (dot_o_o j) * (1 - 2 / (gamma + (t j) + 2)) - (dot_o_o j) + 4 * (2 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 2 * sigma_l ^ 2 / (N * (more + 1))) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 5 * (100 * L ^ 2 * more ^ 2 * sigma_g ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + 200 * L ^ 2 * more * sigma_l ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + rho ^ 2 * (100 * L ^ 4 * more ^ 2 / (9 * gamma ^ 2 * more ^ 2 * mu ^ 2 + 18 * gamma ^ 2 * more * mu ^ 2 + 9 * gamma ^ 2 * mu ^ 2 + 18 * gamma * more ^ 2 * mu ^ 2 * (t j) + 36 * gamma * more ^ 2 * mu ^ 2 + 36 * gamma * more * mu ^ 2 * (t j) + 72 * gamma * more * mu ^ 2 + 18 * gamma * mu ^ 2 * (t j) + 36 * gamma * mu ^ 2 + 9 * more ^ 2 * mu ^ 2 * (t j) ^ 2 + 36 * more ^ 2 * mu ^ 2 * (t j) + 36 * more ^ 2 * mu ^ 2 + 18 * more * mu ^ 2 * (t j) ^ 2 + 72 * more * mu ^ 2 * (t j) + 72 * more * mu ^ 2 + 9 * mu ^ 2 * (t j) ^ 2 + 36 * mu ^ 2 * (t j) + 36 * mu ^ 2) + 3 * L ^ 2 / 2)) / (mu ^ 2 * (gamma + (t j) + 2)) : ℝ) + ((gamma + (t j)) * (gamma + (t j) + 1)) * ((dist j) ^ 2 - (dot_o_o j) : ℝ) + ((-(gamma + (t j) + 1)) * (gamma + (t j) + 2)) * ((dist_next j) ^ 2 - 4 * (dot_d_d j) / (mu ^ 2 * (gamma + (t j) + 2) ^ 2) + 4 * (dot_d_o j) / (mu * (gamma + (t j) + 2)) - (dot_o_o j) : ℝ) + ((8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / (mu ^ 2 * (gamma + (t j) + 2))) + (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) * ((t j) / ((gamma + 2) * (gamma + (t j) + 2)) + ((gamma + (t j) + 2) ^ 2)⁻¹) / mu ^ 4) + (125 * L ^ 2 * rho ^ 2 * (2 * L * more / (mu * (more + 1) * (gamma + (t j) + 2)) + 1 / 10) * (gamma + (t j) + 1) / (9 * mu ^ 2)) * ((-2) * L * more / (mu * (more + 1) * (gamma + (t j) + 2)) + 1 / 10 : ℝ) := by
        rw [turn_t, turn_dist]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_92 j))) (le_of_eq (by rw [(step_8 j)]; ring))) (le_of_eq (by rw [(step_9 j)]; ring))) (by positivity)) (by positivity)) (mul_nonneg (by positivity) (step_6 j)))

/-- `after T rounds`, rule: instance of step_93 -/
theorem step_94
    {L N T d_0 dist gamma kappa more mu rho sigma_g sigma_l t : ℝ}
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_d_0 : 0 ≤ d_0)
    (sign_dist : 0 ≤ dist)
    (sign_gamma : 0 < gamma)
    (sign_kappa : 0 ≤ kappa)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (sign_t : 0 ≤ t)
    (step_93 : 0 ≤ (275 * L ^ 2 * rho ^ 2 * t * (2 * gamma + t + 1) / (72 * mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (gamma + t) * (gamma + t + 1) + t * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) : ℝ))
    (at_t : t = (T : ℝ)) :
    0 ≤ (275 * L ^ 2 * T * rho ^ 2 * (T + 2 * gamma + 1) / (72 * mu ^ 2) + T * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (T + gamma) * (T + gamma + 1) : ℝ) := by
  have same : (275 * L ^ 2 * T * rho ^ 2 * (T + 2 * gamma + 1) / (72 * mu ^ 2) + T * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (T + gamma) * (T + gamma + 1) : ℝ) = (275 * L ^ 2 * rho ^ 2 * t * (2 * gamma + t + 1) / (72 * mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (gamma + t) * (gamma + t + 1) + t * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) : ℝ) := by
    rw [at_t]
    field_simp
    ring
  rw [same]
  exact step_93

/-- `F at the end`, rule: smooth value -/
def step_95 (F_end F_star L dot_o_o : ℝ) : Prop :=
    0 ≤ (-F_end + F_star + L * dot_o_o / 2 : ℝ)

/-- `Gap`, rule: hypothesis; Gap names E F(w^T) - F^* -/
def step_96 (F_end F_star Gap : ℝ) : Prop :=
    (-F_end + F_star + Gap : ℝ) = 0

/-- `D_0`, rule: hypothesis; D_0 names |w^0 - w^*|^2 -/
def step_97 (D_0 d_0 : ℝ) : Prop :=
    (D_0 - d_0 ^ 2 : ℝ) = 0

/-- `rate`, rule: combination of step_8, step_94, step_95, step_96, step_97 -/
theorem step_98
    {D_0 F_end F_star Gap L N T d_0 dist dot_o_o gamma kappa more mu rho sigma_g sigma_l : ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_Gap : 0 ≤ Gap)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_d_0 : 0 ≤ d_0)
    (sign_dist : 0 ≤ dist)
    (sign_gamma : 0 < gamma)
    (sign_kappa : 0 ≤ kappa)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (step_8 : (dist ^ 2 - dot_o_o : ℝ) = 0)
    (step_94 : 0 ≤ (275 * L ^ 2 * T * rho ^ 2 * (T + 2 * gamma + 1) / (72 * mu ^ 2) + T * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (T + gamma) * (T + gamma + 1) : ℝ))
    (step_95 : 0 ≤ (-F_end + F_star + L * dot_o_o / 2 : ℝ))
    (step_96 : (-F_end + F_star + Gap : ℝ) = 0)
    (step_97 : (D_0 - d_0 ^ 2 : ℝ) = 0) :
    0 ≤ (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) - Gap + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / (more + 1)) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * (more + 1))) / (mu ^ 4 * (T + gamma) * (gamma + 2) * (more + 1) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (N * mu ^ 2 * (T + gamma) * (more + 1) * (T + gamma + 1)) : ℝ) := by
  have same : (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) - Gap + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / (more + 1)) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * (more + 1))) / (mu ^ 4 * (T + gamma) * (gamma + 2) * (more + 1) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (N * mu ^ 2 * (T + gamma) * (more + 1) * (T + gamma + 1)) : ℝ) = (L / (2 * (T + gamma) * (T + gamma + 1))) * (275 * L ^ 2 * T * rho ^ 2 * (T + 2 * gamma + 1) / (72 * mu ^ 2) + T * (L ^ 2 * (500 * more ^ 2 * sigma_g ^ 2 / (9 * (more + 1) ^ 2) + 1000 * more * sigma_l ^ 2 / (9 * (more + 1) ^ 2)) / (mu ^ 4 * (gamma + 2)) + (8 * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) + 8 * sigma_l ^ 2 / (N * (more + 1))) / mu ^ 2) + d_0 ^ 2 * gamma * (gamma + 1) - dist ^ 2 * (T + gamma) * (T + gamma + 1) : ℝ) + (1) * (-F_end + F_star + L * dot_o_o / 2 : ℝ) + (L / 2) * (dist ^ 2 - dot_o_o : ℝ) + (-1) * (-F_end + F_star + Gap : ℝ) + (L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1))) * (D_0 - d_0 ^ 2 : ℝ) + (275 * L ^ 3 * gamma * rho ^ 2 * (gamma + 1) / (144 * mu ^ 2 * (T + gamma) * (T + gamma + 1))) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_94) (mul_nonneg (by positivity) step_95)) (le_of_eq (by rw [step_8]; ring))) (le_of_eq (by rw [step_96]; ring))) (le_of_eq (by rw [step_97]; ring))) (by positivity))

/-- The statement of `inexact-gradients-strongly-convex`, of step_98 -/
theorem conclusion
    {D_0 Gap K L N T gamma kappa more mu rho sigma_g sigma_l : ℝ}
    (sign_D_0 : 0 ≤ D_0)
    (sign_Gap : 0 ≤ Gap)
    (sign_L : 0 < L)
    (sign_N : 0 < N)
    (sign_T : 0 < T)
    (sign_gamma : 0 < gamma)
    (sign_kappa : 0 ≤ kappa)
    (sign_more : 0 ≤ more)
    (sign_mu : 0 < mu)
    (sign_rho : 0 ≤ rho)
    (sign_sigma_g : 0 ≤ sigma_g)
    (sign_sigma_l : 0 ≤ sigma_l)
    (where_K : K = (more + 1 : ℝ))
    (step_98 : 0 ≤ (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) - Gap + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / (more + 1)) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * (more + 1))) / (mu ^ 4 * (T + gamma) * (gamma + 2) * (more + 1) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (N * mu ^ 2 * (T + gamma) * (more + 1) * (T + gamma + 1)) : ℝ)) :
    (Gap : ℝ) ≤ (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (K * N * mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / K) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * K)) / (K * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) : ℝ) := by
  have same : (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (K * N * mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / K) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / K) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * K)) / (K * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) : ℝ) - (Gap : ℝ) = (D_0 * L * gamma * (gamma + 1) / (2 * (T + gamma) * (T + gamma + 1)) - Gap + 250 * L ^ 3 * T * sigma_g ^ 2 * (1 - 1 / (more + 1)) ^ 2 / (9 * mu ^ 4 * (T + gamma) * (gamma + 2) * (T + gamma + 1)) + L ^ 3 * T * sigma_l ^ 2 * (500 / 9 - 500 / (9 * (more + 1))) / (mu ^ 4 * (T + gamma) * (gamma + 2) * (more + 1) * (T + gamma + 1)) + 275 * L ^ 3 * rho ^ 2 / (144 * mu ^ 2) + 4 * L * T * kappa * (sigma_g ^ 2 + sigma_l ^ 2 / (more + 1)) / (mu ^ 2 * (T + gamma) * (T + gamma + 1)) + 4 * L * T * sigma_l ^ 2 / (N * mu ^ 2 * (T + gamma) * (more + 1) * (T + gamma + 1)) : ℝ) := by
    rw [where_K]
    field_simp
    ring
  linarith

end InexactGradientsStronglyConvex
