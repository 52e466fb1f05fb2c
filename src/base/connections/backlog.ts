/**
 * Connections that may wait until they are accepted; the system has a bound of its own (`net.core.somaxconn`). Beyond it, a new one is
 * dropped, and its client tries again after a second or more: a few hundred that come at once would make all others wait so long.
 */
export const BACKLOG = 4096;

/** Where and how a server takes connections. */
export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Whether no other process takes part of them. */
  readonly exclusive: boolean;
  readonly backlog?: number;
}
