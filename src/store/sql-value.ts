/** The values that a column or a statement parameter can have. */
export type SqlValue = string | number | Uint8Array | null;
