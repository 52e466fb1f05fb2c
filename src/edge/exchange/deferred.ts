/** A request of which it is decided later how it goes to the origin. */
import type { OriginControl } from './exchange.js';

export class DeferredControl implements OriginControl {
  private control: OriginControl | undefined;
  private isPaused = false;
  isAborted = false;

  /** From now on this one is controlled. */
  follow(control: OriginControl): void {
    this.control = control;
    if (this.isAborted) control.abort();
    else if (this.isPaused) control.pause();
  }

  pause(): void {
    this.isPaused = true;
    this.control?.pause();
  }

  resume(): void {
    this.isPaused = false;
    this.control?.resume();
  }

  abort(): void {
    this.isAborted = true;
    this.control?.abort();
  }
}
