/** Messages between the admin process and its thread that delivers alerts. */
import type { Report } from '../../alerts/record.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';

export interface ThreadData {
  readonly settings: Settings;
  /** Keys of the vault for webhook secrets, as text. */
  readonly keys: string;
}

export interface MailOrder {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Store number of the account. */
  readonly account: number;
}

export type ToThread =
  /** Something was committed. */
  | 'look'
  /** The master key was replaced: keys as in {@link ThreadData}. */
  | { readonly keys: string }
  | { readonly stored: number; readonly ok: boolean }
  | { readonly mailed: number; readonly ok: boolean };

export type FromThread =
  | { readonly id: number; readonly reports: readonly Report[] }
  | { readonly id: number; readonly mail: MailOrder }
  /** The number of a mail whose place others need. */
  | { readonly giveUp: number }
  | { readonly samples: readonly MetricSample[] }
  /** An error with its stack. */
  | { readonly fault: string };
