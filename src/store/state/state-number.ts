/** Numbers for the states of a database: another one after every commit, by whomever. */

export class StateNumber {
  private state = 0;
  /** Of the commits of others, when it was last looked at. */
  private version = Number.NaN;
  private isFresh = false;
  private readonly grow = (): void => {
    this.isFresh = false;
  };

  constructor(private readonly versionOfOthers: () => number) {}

  /**
   * Looks once for all that is done at once: looking takes two system calls. What others commit in that moment is as if it came
   * after it.
   */
  now(): number {
    if (this.isFresh) return this.state;
    const version = this.versionOfOthers();
    if (version !== this.version) {
      this.version = version;
      this.state++;
    }
    this.isFresh = true;
    queueMicrotask(this.grow);
    return this.state;
  }

  /** This handle has committed. */
  committed(): void {
    this.version = Number.NaN;
    this.isFresh = false;
  }
}
