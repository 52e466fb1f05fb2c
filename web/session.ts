/** Who is signed in, and what they may do. */
import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Permissions } from './types.js';

export type Area = keyof Permissions['areas'];

export const PermissionContext = createContext<Permissions | undefined>(undefined);

/** What the credential may do with anything; inside a zone, with that zone. */
export function usePermissions(): Permissions {
  return useContext(PermissionContext)!;
}

/** Whether the credential may read something of one of these. */
export function mayRead({ areas }: Permissions, ...wanted: readonly Area[]): boolean {
  return wanted.some((area) => areas[area] !== null);
}

export function mayWrite({ areas }: Permissions, area: Area): boolean {
  return areas[area] === 'write';
}

/** Tells the other tabs of this browser, which share its session, that it is another one now. */
const tabs = new BroadcastChannel('zoneplane-session');

export function tellTabs(): void {
  tabs.postMessage('changed');
}

/** Calls `run` when another tab has begun or ended the session. */
export function whenTabsTell(run: () => void): void {
  tabs.onmessage = run;
}

let onRights: () => void = () => {};

/** Calls `run` when the user has joined or left an account, which changes their rights. */
export function whenRightsChange(run: () => void): void {
  onRights = run;
}

export function tellRights(): void {
  onRights();
}
