/** What a column of a row, or a parameter of a statement, can hold. */
export type SqlValue = string | number | Uint8Array | null;
