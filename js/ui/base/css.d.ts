/** A stylesheet as text; the bundler of the elements loads it so. */
declare module '*.css' {
  const text: string
  export default text
}
