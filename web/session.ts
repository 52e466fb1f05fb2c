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

export function mayRead({ areas }: Permissions, area: Area): boolean {
  return areas[area] !== null;
}

export function mayWrite({ areas }: Permissions, area: Area): boolean {
  return areas[area] === 'write';
}
