/** Where requests to origins go, and how long they may take. */

/** Where requests go that may share connections. */
export interface OriginPlace {
  /** Differs where anything else does. */
  readonly key: string;
  readonly address: string;
  readonly port: number;
  /** Undefined where nothing is encrypted. */
  readonly tls: OriginTls | undefined;
}

export interface OriginTls {
  readonly servername: string;
  readonly rejectUnauthorized: boolean;
  readonly ca?: string[];
}

/** Whose connections they are: those of a zone are of no other. Store numbers. */
export interface PoolOwner {
  readonly account: number;
  readonly zone: number;
}

/** Milliseconds. */
export interface OriginTimes {
  /** Until a connection is open, its handshake included. */
  readonly connectMs: number;
  /** Until the head of the response, and between two parts of its body. */
  readonly waitMs: number;
  /** How long a connection stays open without a request. */
  readonly keepAliveMs: number;
}
