export const s3Tools: { readonly s3sFs: string; readonly moto: string }
export function s3Step(): Promise<void>
