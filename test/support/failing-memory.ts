/** Lets memory run out at a chosen step, for code that must leave no half-done state. */

/** Makes allocation and copying fail at the step chosen, once; returns whether it came to that. */
export function failAt(step: number, work: () => void): boolean {
  const { SharedArrayBuffer: Memory } = globalThis;
  const arrays = Object.getPrototypeOf(Int32Array.prototype) as { set: (...given: unknown[]) => void };
  const { set } = arrays;
  let left = step;
  const count = (): void => {
    if (--left === 0) throw new RangeError('Array buffer allocation failed');
  };
  globalThis.SharedArrayBuffer = class extends Memory {
    constructor(octets?: number) {
      count();
      super(octets);
    }
  };
  arrays.set = function (...given) {
    count();
    set.apply(this, given);
  };
  try {
    work();
    return false;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return true;
  } finally {
    globalThis.SharedArrayBuffer = Memory;
    arrays.set = set;
  }
}
