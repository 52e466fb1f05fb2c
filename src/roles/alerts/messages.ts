/** What the admin process and its thread that delivers alerts say to each other. */
import type { Report } from '../../alerts/record.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';

export interface ThreadData {
  readonly settings: Settings;
  /** Keys of the vault for secrets of webhooks, as text. */
  readonly keys: string;
}

export interface MailOrder {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Store number. */
  readonly account: number;
}

export type ToThread =
  /** Something was committed. */
  'look' | { readonly stored: number; readonly ok: boolean } | { readonly mailed: number; readonly ok: boolean };

export type FromThread =
  | { readonly id: number; readonly reports: readonly Report[] }
  | { readonly id: number; readonly mail: MailOrder }
  | { readonly samples: readonly MetricSample[] }
  /** With its stack. */
  | { readonly fault: string };
