import Mathlib

/-!
# top eigenvalue of a layer's Hessian against its input and the layers above

$\lambda_{\max}(H_{W_l})\le\frac{\|a_{l-1}\|_F^2 \prod_{j>l}c_j\|W_j\|_F^2 K_1 K_2}{2}$

Written from `docs/proofs/man-layer-weights.json`; `rule` in a comment names the rule of the proof object that gives the step.
-/

set_option maxHeartbeats 1000000
open scoped RealInnerProductSpace
namespace ManLayerWeights

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

/-- `one layer above`, rule: hypothesis; |W_j U(u)|_F^2/|u|_F^2 <= c_j |W_j|_F^2, c_j = K_1 K_2 of a convolution, 1 of a linear layer; ReLU and non-overlapping max-pooling do not lengthen a difference direction -/
def step_6 (factor ratio : ℝ) : Prop :=
    0 ≤ (factor - ratio : ℝ)

/-- `size after the layers`, rule: loop of step_6 -/
theorem step_7
    {factor product ratio size : ℕ → ℝ}
    (sign_factor : ∀ j, 0 ≤ factor j)
    (sign_product : ∀ j, 0 ≤ product j)
    (sign_ratio : ∀ j, 0 ≤ ratio j)
    (sign_size : ∀ j, 0 ≤ size j)
    (start_size : size 0 = (1 : ℝ))
    (turn_size : ∀ j, size (j + 1) = ((ratio j) * (size j) : ℝ))
    (start_product : product 0 = (1 : ℝ))
    (turn_product : ∀ j, product (j + 1) = ((factor j) * (product j) : ℝ))
    (step_6 : ∀ j, 0 ≤ ((factor j) - (ratio j) : ℝ)) :
    ∀ j, 0 ≤ ((product j) - (size j) : ℝ) := by
  intro j
  induction j with
  | zero => exact ⟨by rw [start_size, start_product]; ring_nf; positivity⟩
  | succ j previous =>
    obtain ⟨kept_1⟩ := previous
    refine ⟨?_⟩
    · have same : ((product (j + 1)) - (size (j + 1)) : ℝ) = ((factor j)) * ((product j) - (size j) : ℝ) + ((size j)) * ((factor j) - (ratio j) : ℝ) := by
        rw [turn_size, turn_product]
        field_simp
        ring
      rw [same]
      exact (add_nonneg (mul_nonneg (by positivity) kept_1) (mul_nonneg (by positivity) (step_6 j)))

/-- `weights`, rule: hypothesis; names the product over the layers above -/
def step_8 (product weights : ℝ) : Prop :=
    (-product + weights : ℝ) = 0

/-- `softmax`, rule: hypothesis; Gershgorin: diag(p) - p p^T has none above 1/2; at a unit z -/
def step_9 (curvature size : ℝ) : Prop :=
    0 ≤ (-curvature + size / 2 : ℝ)

/-- `bound`, rule: combination of step_5, step_7, step_8, step_9 -/
theorem step_10
    {K_1 K_2 curvature energy product size top weights : ℝ}
    (sign_K_1 : 0 < K_1)
    (sign_K_2 : 0 < K_2)
    (sign_curvature : 0 ≤ curvature)
    (sign_energy : 0 ≤ energy)
    (sign_product : 0 ≤ product)
    (sign_size : 0 ≤ size)
    (sign_top : 0 ≤ top)
    (sign_weights : 0 ≤ weights)
    (step_5 : 0 ≤ (K_1 * K_2 * curvature * energy - top : ℝ))
    (step_7 : 0 ≤ (product - size : ℝ))
    (step_8 : (-product + weights : ℝ) = 0)
    (step_9 : 0 ≤ (-curvature + size / 2 : ℝ)) :
    0 ≤ (K_1 * K_2 * energy * weights / 2 - top : ℝ) := by
  have same : (K_1 * K_2 * energy * weights / 2 - top : ℝ) = (1) * (K_1 * K_2 * curvature * energy - top : ℝ) + (K_1 * K_2 * energy) * (-curvature + size / 2 : ℝ) + (K_1 * K_2 * energy / 2) * (product - size : ℝ) + (K_1 * K_2 * energy / 2) * (-product + weights : ℝ) := by
    field_simp
    ring
  rw [same]
  exact (add_nonneg (add_nonneg (add_nonneg (mul_nonneg (by positivity) step_5) (mul_nonneg (by positivity) step_9)) (mul_nonneg (by positivity) step_7)) (le_of_eq (by rw [step_8]; ring)))

/-- The statement of `man-layer-weights`, of step_10 -/
theorem conclusion
    {K_1 K_2 energy top weights : ℝ}
    (sign_K_1 : 0 < K_1)
    (sign_K_2 : 0 < K_2)
    (sign_energy : 0 ≤ energy)
    (sign_top : 0 ≤ top)
    (sign_weights : 0 ≤ weights)
    (step_10 : 0 ≤ (K_1 * K_2 * energy * weights / 2 - top : ℝ)) :
    (top : ℝ) ≤ (K_1 * K_2 * energy * weights / 2 : ℝ) := by
  have same : (K_1 * K_2 * energy * weights / 2 : ℝ) - (top : ℝ) = (K_1 * K_2 * energy * weights / 2 - top : ℝ) := by
    field_simp
    ring
  linarith

end ManLayerWeights
