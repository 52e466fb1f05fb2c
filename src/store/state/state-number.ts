/** Numbers for the states of a database: another one after every commit, by whomever. */

export class StateNumber {
  private state = 0;
  private isFresh = false;
  private hasChanged: (() => boolean) | undefined;
  private readonly grow = (): void => {
    this.isFresh = false;
  };

  /** `watch`: called once; returns a function that tells whether anybody has committed since it was called before. */
  constructor(private readonly watch: () => () => boolean) {}

  /** Looks once for all that is done at once. What others commit in that moment is as if it came after it. */
  now(): number {
    if (this.isFresh) return this.state;
    this.hasChanged ??= this.watch();
    if (this.hasChanged()) this.state++;
    this.isFresh = true;
    queueMicrotask(this.grow);
    return this.state;
  }

  /** The same with a look of its own: what was committed before this call counts. */
  look(): number {
    this.isFresh = false;
    return this.now();
  }

  /** This handle has committed. */
  committed(): void {
    this.state++;
    this.isFresh = false;
  }
}
