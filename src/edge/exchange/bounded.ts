/** Runs `work`; what it throws goes to `onFault`: a fault in a call of a socket or a timer ends one exchange, and not the process. */
export function bounded(onFault: (error: unknown) => void, work: () => void): void {
  try {
    work();
  } catch (error) {
    onFault(error);
  }
}
