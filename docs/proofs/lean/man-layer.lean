import Mathlib

/-!
# top eigenvalue of a layer's Hessian against its input

$\lambda_{\max}(H_{W_l})\le\lambda_{\max}(\nabla^2_{z_l}\mathcal L) \|a_{l-1}\|_F^2 K_1 K_2$

Written from `docs/proofs/man-layer.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace ManLayer

/-- `Rayleigh`, rule: hypothesis; top = vec(VU).H_z vec(VU) at a unit V, at most curvature |VU|_F^2 -/
def step_1 (curvature image top : ℝ) : Prop :=
    0 ≤ (curvature * image - top : ℝ)

/-- `product`, rule: hypothesis; |VU|_F^2 <= |V|_F^2 |U|_F^2 (Cauchy-Schwarz) -/
def step_2 (direction image patches : ℝ) : Prop :=
    0 ≤ (direction * patches - image : ℝ)

/-- `unit`, rule: hypothesis; |V|_F = 1 -/
def step_3 (direction : ℝ) : Prop :=
    (1 - direction : ℝ) = 0

/-- `count`, rule: hypothesis; an entry of a meets each of the K_1 K_2 kernel positions at most once: position and entry fix the patch -/
def step_4 (K_1 K_2 energy patches : ℝ) : Prop :=
    0 ≤ (K_1 * K_2 * energy - patches : ℝ)

/-- `layer`, rule: combination of step_1, step_2, step_3, step_4 -/
theorem step_5
    {K_1 K_2 curvature direction energy image patches top : ℝ}
    (sign_K_1 : 0 < K_1)
    (sign_K_2 : 0 < K_2)
    (sign_curvature : 0 ≤ curvature)
    (sign_direction : 0 ≤ direction)
    (sign_energy : 0 ≤ energy)
    (sign_image : 0 ≤ image)
    (sign_patches : 0 ≤ patches)
    (sign_top : 0 ≤ top)
    (step_1 : 0 ≤ (curvature * image - top : ℝ))
    (step_2 : 0 ≤ (direction * patches - image : ℝ))
    (step_3 : (1 - direction : ℝ) = 0)
    (step_4 : 0 ≤ (K_1 * K_2 * energy - patches : ℝ)) :
    0 ≤ (K_1 * K_2 * curvature * energy - top : ℝ) := by
  have same : (K_1 * K_2 * curvature * energy - top : ℝ) = (1) * (curvature * image - top : ℝ) + (curvature) * (direction * patches - image : ℝ) + (curvature * patches) * (1 - direction : ℝ) + (curvature) * (K_1 * K_2 * energy - patches : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_1) (mul_nonneg (by positivity) step_2)) (le_of_eq (by rw [step_3]; ring))) (mul_nonneg (by positivity) step_4))

/-- `bound`, rule: combination of step_5 -/
theorem step_6
    {K_1 K_2 curvature energy top : ℝ}
    (sign_K_1 : 0 < K_1)
    (sign_K_2 : 0 < K_2)
    (sign_curvature : 0 ≤ curvature)
    (sign_energy : 0 ≤ energy)
    (sign_top : 0 ≤ top)
    (step_5 : 0 ≤ (K_1 * K_2 * curvature * energy - top : ℝ)) :
    0 ≤ (K_1 * K_2 * curvature * energy - top : ℝ) := by
  have same : (K_1 * K_2 * curvature * energy - top : ℝ) = (1) * (K_1 * K_2 * curvature * energy - top : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (mul_nonneg (by positivity) step_5)

/-- The statement of `man-layer`, of step_6 -/
theorem conclusion
    {K_1 K_2 curvature energy top : ℝ}
    (sign_K_1 : 0 < K_1)
    (sign_K_2 : 0 < K_2)
    (sign_curvature : 0 ≤ curvature)
    (sign_energy : 0 ≤ energy)
    (sign_top : 0 ≤ top)
    (step_6 : 0 ≤ (K_1 * K_2 * curvature * energy - top : ℝ)) :
    (top : ℝ) ≤ (K_1 * K_2 * curvature * energy : ℝ) := by
  have same : (K_1 * K_2 * curvature * energy : ℝ) - (top : ℝ) = (K_1 * K_2 * curvature * energy - top : ℝ) := by
    field_simp
    ring
  linarith

end ManLayer
