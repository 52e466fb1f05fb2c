/** Runs `work`; what it throws goes to `onFault`, so that a fault in a callback of a socket or a timer ends one exchange, not the process. */
export function bounded(onFault: (error: unknown) => void, work: () => void): void {
  try {
    work();
  } catch (error) {
    onFault(error);
  }
}
